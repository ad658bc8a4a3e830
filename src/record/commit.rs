//! Commits one batch: new receipts in one statement, what was seen before in a second transaction, and tells for each
//! request what it came to. One bad receipt never fails its batch mates.

use std::{collections::HashSet, time::Duration};

use sqlx::{PgConnection, PgPool};
use tokio::time::Instant;

use super::RecordError;
use crate::{
    crash_point::crash_point,
    domain::{Arrival, ArrivalKind, NewReceipt, SeenBefore},
    run::Doorbell,
    store::{
        StoreError,
        record_new::record_new,
        record_seen_before::{classify_seen_before, delivery_states, record_seen_before},
    },
};

/// How long a batch is tried again while the database is away: a sender waits meanwhile, and so do those behind it.
const TRY_AGAIN_FOR: Duration = Duration::from_millis(1_500);

/// Between two tries of a batch.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Owns the connection that records.
pub(super) struct Committer {
    pool: PgPool,
    arrivals_kept: i32,
    doorbell: Doorbell,
}

type Recorded = Vec<Result<Arrival, RecordError>>;

impl Committer {
    pub(super) fn new(pool: PgPool, arrivals_kept: i32, doorbell: Doorbell) -> Self {
        Self { pool, arrivals_kept, doorbell }
    }

    /// Records `batch`; one result for each, in order.
    pub(super) async fn commit(&mut self, batch: &[NewReceipt]) -> Recorded {
        let recorded = match self.commit_together(batch).await {
            Ok(recorded) => recorded,
            Err(Failure::Statement(error)) if batch.len() > 1 => {
                tracing::warn!(%error, receipts = batch.len(), "the database refused a batch; recording one by one");
                let mut recorded = Vec::with_capacity(batch.len());
                for one in batch {
                    recorded.extend(self.commit_alone(one).await);
                }
                recorded
            }
            Err(failure) => self.refuse_all(batch, &failure),
        };
        if recorded.iter().any(|result| matches!(result, Ok(Arrival::First { .. }))) {
            self.doorbell.ring();
        }
        recorded
    }

    async fn commit_alone(&self, one: &NewReceipt) -> Recorded {
        let batch = std::slice::from_ref(one);
        match self.commit_together(batch).await {
            Ok(recorded) => recorded,
            Err(failure) => self.refuse_all(batch, &failure),
        }
    }

    fn refuse_all(&self, batch: &[NewReceipt], failure: &Failure) -> Recorded {
        let refusal = match failure {
            Failure::Away | Failure::Lost(_) => RecordError::Unavailable,
            Failure::Unknown(_) => RecordError::Unknown,
            Failure::Statement(_) => RecordError::Refused,
        };
        tracing::error!(receipts = batch.len(), first = %batch[0].id, "not recorded: {failure}");
        batch.iter().map(|_| Err(refusal.clone())).collect()
    }

    /// One batch in one statement, tried again for a short while when the connection breaks: recording is idempotent, and a
    /// receipt that turns out to be stored under its own id is the one we wrote.
    async fn commit_together(&self, batch: &[NewReceipt]) -> Result<Recorded, Failure> {
        let until = Instant::now() + TRY_AGAIN_FOR;
        let mut may_be_stored = false;
        loop {
            let failure = match self.try_once(batch).await {
                Ok(recorded) => return Ok(recorded),
                Err(Failure::Statement(error)) => return Err(Failure::Statement(error)),
                Err(failure) => failure,
            };
            may_be_stored |= matches!(failure, Failure::Unknown(_));
            if Instant::now() + TRY_AGAIN_AFTER >= until {
                return Err(match failure {
                    Failure::Away if may_be_stored => Failure::Unknown("the database went away".to_owned()),
                    failure => failure,
                });
            }
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    async fn try_once(&self, batch: &[NewReceipt]) -> Result<Recorded, Failure> {
        let mut conn = match self.pool.acquire().await {
            Ok(conn) => conn,
            Err(error) => {
                tracing::debug!(%error, "no connection to record with");
                return Err(Failure::Away);
            }
        };
        crash_point("before_record");
        match self.record(&mut conn, batch).await {
            Ok(recorded) => {
                crash_point("after_record");
                Ok(recorded)
            }
            Err(error) => {
                let failure = Failure::from(error);
                if matches!(failure, Failure::Unknown(_) | Failure::Away) {
                    conn.close_on_drop();
                }
                Err(failure)
            }
        }
    }

    async fn record(&self, conn: &mut PgConnection, batch: &[NewReceipt]) -> crate::store::Result<Recorded> {
        let stored = record_new(conn, batch).await?;
        let mut recorded: Recorded = batch
            .iter()
            .map(|new| {
                if stored.contains(&new.id) {
                    Ok(Arrival::First { receipt: new.id })
                } else {
                    Err(RecordError::Unknown)
                }
            })
            .collect();
        if stored.len() < batch.len() {
            self.record_rest(conn, batch, &mut recorded).await?;
        }
        Ok(recorded)
    }

    /// Fills in what became of the requests that made no receipt.
    async fn record_rest(
        &self,
        conn: &mut PgConnection,
        batch: &[NewReceipt],
        recorded: &mut Recorded,
    ) -> crate::store::Result<()> {
        let places: Vec<usize> = (0..batch.len()).filter(|place| recorded[*place].is_err()).collect();
        let rest: Vec<&NewReceipt> = places.iter().map(|place| &batch[*place]).collect();
        let (ours, seen): (Vec<_>, Vec<_>) = classify_seen_before(conn, &rest)
            .await?
            .into_iter()
            .partition(|classified| classified.receipt == rest[classified.place].id);
        for classified in ours {
            // An earlier try of this batch was committed though its connection broke.
            recorded[places[classified.place]] = Ok(Arrival::First { receipt: classified.receipt });
        }
        let with_request: Vec<_> = seen.iter().map(|classified| (classified, rest[classified.place])).collect();
        record_seen_before(conn, &with_request, self.arrivals_kept).await?;
        let receipts: HashSet<_> = seen.iter().map(|classified| classified.receipt).collect();
        let states = delivery_states(conn, &receipts.into_iter().collect::<Vec<_>>()).await?;
        for classified in &seen {
            let seen_before = SeenBefore {
                receipt: classified.receipt,
                first_received_at: classified.first_received_at,
                deliveries: states.get(&classified.receipt).cloned().unwrap_or_default(),
            };
            recorded[places[classified.place]] = Ok(match classified.kind {
                ArrivalKind::Conflict => Arrival::Conflict(seen_before),
                ArrivalKind::Duplicate | ArrivalKind::First => Arrival::Duplicate(seen_before),
            });
        }
        Ok(())
    }
}

/// Why a batch was not recorded.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// No connection: nothing was stored.
    #[error("the database cannot be reached")]
    Away,
    /// The connection broke on the way: it may have been stored.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// The transaction lost against another one: nothing was stored, and the next try may win.
    #[error("it lost against another transaction: {0}")]
    Lost(StoreError),
    /// The statement was refused as a whole: nothing was stored.
    #[error("the database refused it: {0}")]
    Statement(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_outcome_unknown() {
            Self::Unknown(error.to_string())
        } else if error.is_database_away() {
            Self::Away
        } else if error.is_worth_another_try() {
            Self::Lost(error)
        } else {
            Self::Statement(error)
        }
    }
}
