//! The outgoing body: takes bytes, gives them to the connection piece by piece, and tells how far it has come. Never
//! changes them.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;

/// Bytes handed over at a time. The connection buffers a few pieces, so this bounds how early "all sent" is told.
const PIECE_BYTES: usize = 64 * 1024;

/// A body of known length.
pub(super) struct OutgoingBody {
    rest: Bytes,
    progress: Arc<Progress>,
}

/// How far a body has come. What decides between "the destination cannot have it" and "it may have it".
#[derive(Default)]
pub(super) struct Progress {
    begun: AtomicBool,
    all_sent: Notify,
}

impl OutgoingBody {
    pub(super) fn new(body: Bytes) -> (Self, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        if body.is_empty() {
            // Nobody asks an empty body for its first piece, and so nothing would be told.
            progress.begin();
            progress.finish();
        }
        (Self { rest: body, progress: Arc::clone(&progress) }, progress)
    }
}

impl Progress {
    fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    fn finish(&self) {
        self.all_sent.notify_one();
    }

    /// Whether the connection has taken any of the body, and so the head of the request.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Waits until the connection has taken all of it. For one waiter, once.
    pub(super) async fn all_sent(&self) {
        self.all_sent.notified().await;
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        self.progress.begin();
        let length = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(length);
        if self.rest.is_empty() {
            self.progress.finish();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
