//! Group commit: takes verified, identified requests, writes many of them in one transaction, answers after the commit.
//!
//! A lone request never waits on a timer: a batch is whatever waits when the last one is through.
//!
//! `batch` decides how much is taken at once, `commit` talks to the database, `revival` asks for dead deliveries again, this
//! file is the handle between.

mod batch;
mod commit;
mod revival;

use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot};

use crate::{
    config,
    domain::{Arrival, NewReceipt},
    run::Doorbell,
};

/// Why a request was not recorded, or may not have been. The answer is 503 in every case, and the sender's next try is safe:
/// what was stored after all is then a duplicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Too many requests wait already. Nothing was stored.
    #[error("too many requests are waiting to be recorded; try again shortly")]
    Busy,
    /// The database cannot be reached. Nothing was stored.
    #[error("the database cannot be reached; try again shortly")]
    Unavailable,
    /// The connection broke while the transaction was on its way: it may have been stored.
    #[error("the connection to the database broke; whether the event was stored is unknown, sending it again is safe")]
    Unknown,
    /// The database refuses this one receipt. Nothing was stored; the log says why.
    #[error("the database refused this event; see the log of oncehook")]
    Refused,
}

/// One request on its way into a batch.
struct Waiting {
    new: NewReceipt,
    answer: oneshot::Sender<Result<Arrival, RecordError>>,
}

/// The handle that intake holds. Clones share the queue.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Waiting>,
}

impl Recorder {
    /// Starts the committer on the current runtime. It ends when the last handle is gone and the queue is empty.
    ///
    /// One committer, so that the order of commits is the order of the queue.
    #[must_use]
    pub fn start(pool: PgPool, settings: &config::Record, doorbell: Doorbell) -> (Self, tokio::task::JoinHandle<()>) {
        let (queue, waiting) = mpsc::channel(settings.queue_max);
        let committer = commit::Committer::new(pool, settings.arrivals_kept, doorbell);
        let task = tokio::spawn(batch::commit_as_they_come(waiting, settings.clone(), committer));
        (Self { queue }, task)
    }

    /// Records one request and returns after its transaction is committed.
    ///
    /// # Errors
    /// When it was not recorded, or nobody knows.
    pub async fn record(&self, new: NewReceipt) -> Result<Arrival, RecordError> {
        let (answer, answered) = oneshot::channel();
        #[cfg(feature = "sabotage")]
        let receipt = new.id;
        self.queue.try_send(Waiting { new, answer }).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => RecordError::Busy,
            mpsc::error::TrySendError::Closed(_) => RecordError::Unavailable,
        })?;
        #[cfg(feature = "sabotage")]
        if crate::sabotage::is_on(crate::sabotage::Sabotage::AnswerBeforeCommit) {
            return Ok(Arrival::First { receipt });
        }
        // The committer answers each request it takes; a lost answer means that it died in the middle.
        answered.await.unwrap_or(Err(RecordError::Unknown))
    }
}
