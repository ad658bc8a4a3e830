//! A destination for a test suite: takes every call, counts it by its `Idempotency-Key`, and remembers what body it had.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::drill::sink::{Call, Reply, serve};

/// Keys that are remembered: a suite has a few hundred. What comes beyond is answered and not counted.
const KEYS_MAX: usize = 1_000_000;

/// The bodies of the calls with one key, as SHA-256 in hex.
type Calls = HashMap<String, Vec<String>>;

/// A running sink. It ends when it is dropped.
pub(super) struct Sink {
    calls: Arc<Mutex<Calls>>,
    server: JoinHandle<anyhow::Result<()>>,
}

impl Sink {
    /// Listens.
    ///
    /// # Errors
    /// When the address is not free.
    pub(super) async fn start(listen: SocketAddr) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind(listen).await.with_context(|| format!("--sink: failed to listen on {listen}"))?;
        let calls: Arc<Mutex<Calls>> = Arc::default();
        let counted = Arc::clone(&calls);
        let server = tokio::spawn(serve(listener, move |call| {
            note(&mut counted.lock().unwrap_or_else(PoisonError::into_inner), &call);
            std::future::ready(Reply::Status(200))
        }));
        Ok(Self { calls, server })
    }

    /// How many calls had this key, and how many of them another body than the one with this digest.
    pub(super) fn calls(&self, key: &str, body_digest: &str) -> (usize, usize) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let bodies = calls.get(key).map(Vec::as_slice).unwrap_or_default();
        (bodies.len(), bodies.iter().filter(|body| *body != body_digest).count())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn note(calls: &mut Calls, call: &Call) {
    let key = call.header("idempotency-key").unwrap_or_default();
    if calls.len() < KEYS_MAX || calls.contains_key(key) {
        calls.entry(key.to_owned()).or_default().push(hex::encode(Sha256::digest(&call.body)));
    }
}
