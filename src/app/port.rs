//! A port that is open: where it listens, and how it is closed.

use std::{io, net::SocketAddr};

use tokio::task::JoinHandle;

use crate::{intake::BoundServer, shutdown};

/// A port, with the server behind it.
pub(super) struct Port {
    pub(super) address: SocketAddr,
    stop: shutdown::Trigger,
    pub(super) served: JoinHandle<io::Result<()>>,
}

impl Port {
    pub(super) fn open(bound: BoundServer) -> Self {
        let (stop, stopping) = shutdown::channel();
        Self { address: bound.address(), stop, served: tokio::spawn(bound.run(stopping)) }
    }

    pub(super) async fn close(self, name: &str) {
        self.stop.pull();
        if !self.served.is_finished()
            && let Err(error) = self.served.await.unwrap_or_else(|broken| Err(io::Error::other(broken)))
        {
            tracing::warn!(%error, "the {name} port did not close in good order");
        }
    }
}
