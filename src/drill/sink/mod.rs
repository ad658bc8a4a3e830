//! A consumer at the end of a route, in a process of its own: takes calls, journals each as an effect, misbehaves on cue.
//!
//! The naive kind acts on every call. The idempotent kind acts once for each `Idempotency-Key`, and knows the keys that its
//! journal holds, so that it may be killed like everything else.

mod http;

use std::{
    collections::HashSet,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

pub use self::http::{Call, Reply, serve};
use super::journal::{self, Journal};
use crate::clock::Clock;

/// The exit code of a sink that dies between its effect and its answer.
pub const DIED_ON_PURPOSE: i32 = 42;

/// Calls in a thousand that end otherwise than well: an error after the effect, no answer at all, an answer cut off.
const CUES: [(u64, Cue); 3] = [(8, Cue::Error), (2, Cue::Hang), (5, Cue::Reset)];
/// Attempts of one delivery that may be given a cue; the next one goes well.
const CUED_ATTEMPTS: u32 = 3;

/// What a sink is.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Where it listens.
    #[arg(long)]
    pub listen: SocketAddr,
    /// Its journal of effects.
    #[arg(long)]
    pub journal: PathBuf,
    /// The journal of what it does wrong on purpose.
    #[arg(long)]
    pub faults: Option<PathBuf>,
    /// Acts once for each key.
    #[arg(long)]
    pub idempotent: bool,
    /// Decides who gets which cue; without it, all goes well.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Exits with code 42 after an effect, before the answer, unless this file is there; makes it first.
    #[arg(long)]
    pub die_once: Option<PathBuf>,
}

/// One call, as the journal keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Effect {
    /// When, in microseconds since 1970.
    pub at_us: i64,
    /// The `Idempotency-Key`.
    pub delivery: String,
    /// Whose delivery it is.
    pub receipt: String,
    /// Which attempt.
    pub attempt: u32,
    /// The source.
    pub source: String,
    /// The provider's id.
    pub delivery_id: String,
    /// The ordering key, if there is one.
    pub ordering_key: Option<String>,
    /// Of the body, in hex.
    pub body_sha256: String,
    /// Whether the consumer acted. False: it had before.
    pub effect: bool,
    /// How the call ended on purpose, if not well.
    pub cue: Option<Cue>,
}

/// Misbehaviour after the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cue {
    /// 500.
    Error,
    /// No answer.
    Hang,
    /// The head of a 200, and then a reset.
    Reset,
}

impl Cue {
    /// Its class of faults.
    #[must_use]
    pub fn fault(self) -> &'static str {
        match self {
            Self::Error => "sink_500",
            Self::Hang => "sink_hang",
            Self::Reset => "sink_reset",
        }
    }
}

/// A running sink.
struct Sink {
    options: Options,
    journal: Journal,
    faults: Option<Journal>,
    seen: Mutex<HashSet<String>>,
}

/// Serves until it is killed.
///
/// # Errors
/// When it cannot listen or write its journal.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let seen = journal::read::<Effect>(&options.journal)?.into_iter().filter(|effect| effect.effect);
    let seen = Mutex::new(seen.map(|effect| effect.delivery).collect());
    let listener =
        TcpListener::bind(options.listen).await.with_context(|| format!("cannot listen on {}", options.listen))?;
    let faults = options.faults.as_deref().map(Journal::open).transpose()?;
    let sink = Arc::new(Sink { journal: Journal::open(&options.journal)?, faults, options, seen });
    serve(listener, move |call| {
        let sink = sink.clone();
        async move { sink.take(&call) }
    })
    .await
}

impl Sink {
    fn take(&self, call: &Call) -> Reply {
        let mut effect = Effect::of(call);
        effect.cue = self.cue(&effect);
        // The lock is held over the write: of two calls with one key, one acts, and the journal's order is the effects'.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        effect.effect = seen.insert(effect.delivery.clone()) || !self.options.idempotent;
        effect.at_us = Clock::system().now().timestamp_micros();
        let marker = self.options.die_once.as_ref().filter(|marker| !marker.exists());
        let written = if marker.is_some() { self.journal.commit(&effect) } else { self.journal.write(&effect) };
        if let Err(error) = written.and_then(|()| self.admit(&effect)) {
            tracing::error!(%error, "an effect could not be journaled");
            return Reply::Status(503);
        }
        if let Some(marker) = marker
            && std::fs::write(marker, "").is_ok()
        {
            std::process::exit(DIED_ON_PURPOSE);
        }
        drop(seen);
        match effect.cue {
            None => Reply::Status(200),
            Some(Cue::Error) => Reply::Status(500),
            Some(Cue::Hang) => Reply::Hang,
            Some(Cue::Reset) => Reply::Reset,
        }
    }

    /// Writes down that this call is going to end badly, and that it is the sink's doing.
    fn admit(&self, effect: &Effect) -> anyhow::Result<()> {
        let (Some(cue), Some(faults)) = (effect.cue, &self.faults) else { return Ok(()) };
        let target = if self.options.idempotent { "idempotent" } else { "naive" };
        let Effect { at_us, delivery, attempt, .. } = effect;
        faults.write(&json!({
            "at_us": at_us, "fault": cue.fault(), "target": target, "delivery": delivery, "attempt": attempt,
        }))
    }

    fn cue(&self, effect: &Effect) -> Option<Cue> {
        let seed = self.options.seed.filter(|_| effect.attempt <= CUED_ATTEMPTS)?;
        let digest = Sha256::digest(format!("{seed}/{}/{}", effect.delivery_id, effect.attempt));
        let mut draw = u64::from(u16::from_be_bytes([digest[0], digest[1]])) * 1_000 / 65_536;
        for (share, cue) in CUES {
            if draw < share {
                return Some(cue);
            }
            draw -= share;
        }
        None
    }
}

impl Effect {
    /// What a call says about itself.
    pub fn of(call: &Call) -> Self {
        let text = |name| call.header(name).unwrap_or_default().to_owned();
        Self {
            at_us: Clock::system().now().timestamp_micros(),
            delivery: text("idempotency-key"),
            receipt: text("oncehook-receipt"),
            attempt: call.header("oncehook-attempt").and_then(|number| number.parse().ok()).unwrap_or_default(),
            source: text("oncehook-source"),
            delivery_id: call.header("oncehook-delivery-id").unwrap_or(&text("x-github-delivery")).to_owned(),
            ordering_key: call.header("oncehook-ordering-key").map(percent_decode),
            body_sha256: hex::encode(Sha256::digest(&call.body)),
            effect: true,
            cue: None,
        }
    }
}

fn percent_decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_key_is_read_back() {
        assert_eq!(percent_decode("issue/7"), "issue/7");
        assert_eq!(percent_decode("Euro%20%E2%82%AC%25"), "Euro €%");
    }
}
