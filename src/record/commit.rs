//! Commits one batch: new receipts in one statement, what was seen before in a second transaction, and tells for each
//! request what it came to. One bad receipt never fails its batch mates.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::Instant;

use super::{
    RecordError,
    revival::{Revival, asks_for_revival, revive},
};
use crate::{
    crash_point::crash_point,
    domain::{Arrival, ArrivalKind, NewReceipt, SeenBefore},
    run::Doorbell,
    store::{
        StoreError,
        record_new::record_new,
        record_seen_before::{Classified, classify_seen_before, record_seen_before, standings},
    },
};

/// How long a batch is tried again while the database is away: a sender waits meanwhile, and so do those behind it.
const TRY_AGAIN_FOR: Duration = Duration::from_millis(1_500);

/// Between two tries of a batch.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// Records batches on connections of its own.
pub(super) struct Committer {
    pool: PgPool,
    arrivals_kept: i32,
    doorbell: Doorbell,
}

/// One request of a batch, and what it came to, which is open until that is committed.
struct Item<'a> {
    new: &'a NewReceipt,
    outcome: Option<Result<Arrival, RecordError>>,
}

impl Item<'_> {
    fn is_open(&self) -> bool {
        self.outcome.is_none()
    }

    fn puts_work_on_the_queue(&self) -> bool {
        match &self.outcome {
            Some(Ok(Arrival::First { .. })) => true,
            Some(Ok(Arrival::Duplicate(seen))) => seen.deliveries.iter().any(|standing| standing.is_revived),
            _ => false,
        }
    }
}

impl Committer {
    pub(super) fn new(pool: PgPool, arrivals_kept: i32, doorbell: Doorbell) -> Self {
        Self { pool, arrivals_kept, doorbell }
    }

    /// Records `batch`; one result for each, in order.
    pub(super) async fn commit(&self, batch: &[NewReceipt]) -> Vec<Result<Arrival, RecordError>> {
        let mut items: Vec<_> = batch.iter().map(|new| Item { new, outcome: None }).collect();
        let mut revival = Revival::default();
        match self.commit_together(&mut items, &mut revival).await {
            Ok(()) => {}
            Err(Failure::Statement(error)) if items.iter().filter(|item| item.is_open()).count() > 1 => {
                tracing::warn!(%error, receipts = batch.len(), "the database refused a batch; recording one by one");
                self.commit_one_by_one(&mut items, &mut revival).await;
            }
            Err(failure) => refuse(&mut items, &failure),
        }
        if items.iter().any(Item::puts_work_on_the_queue) {
            self.doorbell.ring();
        }
        items.into_iter().map(|item| item.outcome.unwrap_or(Err(RecordError::Unknown))).collect()
    }

    async fn commit_one_by_one(&self, items: &mut [Item<'_>], revival: &mut Revival) {
        for place in 0..items.len() {
            let alone = &mut items[place..=place];
            match self.commit_together(alone, revival).await {
                Ok(()) => {}
                Err(failure @ Failure::Statement(_)) => refuse(alone, &failure),
                // The database has gone away meanwhile. Waiting for it once for each would hold up the next batches.
                Err(failure) => return refuse(items, &failure),
            }
        }
    }

    /// Commits what is open, and tries again for a short while when the connection breaks: recording is idempotent, and a
    /// receipt that turns out to be stored under its own id is the one we wrote.
    async fn commit_together(&self, items: &mut [Item<'_>], revival: &mut Revival) -> Result<(), Failure> {
        let until = Instant::now() + TRY_AGAIN_FOR;
        let mut may_be_stored = false;
        loop {
            let failure = match self.try_once(items, revival).await {
                Ok(()) => return Ok(()),
                Err(Failure::Statement(error)) => return Err(Failure::Statement(error)),
                Err(failure) => failure,
            };
            may_be_stored |= matches!(failure, Failure::Unknown(_));
            if Instant::now() + TRY_AGAIN_AFTER >= until {
                // What the last try met with says nothing about what an earlier one has stored.
                return Err(if may_be_stored { Failure::Unknown(failure.to_string()) } else { failure });
            }
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
        }
    }

    async fn try_once(&self, items: &mut [Item<'_>], revival: &mut Revival) -> Result<(), Failure> {
        let mut conn = match self.pool.acquire().await {
            Ok(conn) => conn,
            Err(error) => {
                tracing::debug!(%error, "no connection to record with");
                return Err(Failure::Away);
            }
        };
        match self.record(&mut conn, items, revival).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let failure = Failure::from(error);
                if matches!(failure, Failure::Unknown(_) | Failure::Away) {
                    conn.close_on_drop();
                }
                Err(failure)
            }
        }
    }

    /// Two transactions: what is new, then the rest. The new ones are committed whatever becomes of the rest.
    async fn record(
        &self,
        conn: &mut PgConnection,
        items: &mut [Item<'_>],
        revival: &mut Revival,
    ) -> crate::store::Result<()> {
        let mut open: Vec<_> = items.iter_mut().filter(|item| item.is_open()).collect();
        crash_point("before_record")?;
        let recorded = record_new(conn, &open.iter().map(|item| item.new).collect::<Vec<_>>()).await?;
        crash_point("after_record")?;
        open.retain_mut(|item| {
            let receipt = item.new.id;
            item.outcome = match recorded.rejected.get(&receipt) {
                Some(&earlier) => Some(Ok(Arrival::Replay { earlier })),
                None if recorded.held.contains(&receipt) => Some(Ok(Arrival::Held { receipt })),
                None => recorded.stored.contains(&receipt).then_some(Ok(Arrival::First { receipt })),
            };
            item.is_open()
        });
        if open.is_empty() {
            return Ok(());
        }
        self.record_rest(conn, &mut open, revival).await
    }

    /// The requests that made no receipt: duplicates, conflicts, and what an earlier try has stored.
    async fn record_rest(
        &self,
        conn: &mut PgConnection,
        open: &mut [&mut Item<'_>],
        revival: &mut Revival,
    ) -> crate::store::Result<()> {
        let rest: Vec<&NewReceipt> = open.iter().map(|item| item.new).collect();
        let (ours, seen): (Vec<_>, Vec<_>) = classify_seen_before(conn, &rest)
            .await?
            .into_iter()
            .partition(|classified| classified.receipt == rest[classified.place].id);
        for classified in ours {
            let receipt = classified.receipt;
            let arrival = if classified.is_held { Arrival::Held { receipt } } else { Arrival::First { receipt } };
            open[classified.place].outcome = Some(Ok(arrival));
        }
        if seen.is_empty() {
            return Ok(());
        }
        let receipts: Vec<_> =
            seen.iter().map(|classified| classified.receipt).collect::<HashSet<_>>().into_iter().collect();
        let with_request: Vec<_> = seen.iter().map(|classified| (classified, rest[classified.place])).collect();
        let dead = revival.candidates(conn, &with_request).await?;
        let mut standings = standings(conn, &receipts).await?;
        // The write is the last: what fails before it can be tried again without counting a request twice.
        let mut revived = HashMap::new();
        if dead.is_empty() {
            record_seen_before(conn, &with_request, self.arrivals_kept).await?;
        } else {
            let mut tx = conn.begin().await?;
            revived = revive(&mut tx, &dead).await?;
            record_seen_before(&mut tx, &with_request, self.arrivals_kept).await?;
            tx.commit().await?;
        }
        for standing in standings.values_mut().flatten() {
            standing.state = revived.get(&standing.delivery).copied().unwrap_or(standing.state);
        }
        for (classified, new) in &with_request {
            let mut deliveries = standings.get(&classified.receipt).cloned().unwrap_or_default();
            if asks_for_revival(classified, new) {
                // Of several requests in one batch the first has done it.
                deliveries.iter_mut().for_each(|one| one.is_revived = revived.remove(&one.delivery).is_some());
            }
            let Classified { receipt, first_received_at, is_held, .. } = **classified;
            let seen_before = SeenBefore { receipt, first_received_at, is_held, deliveries };
            open[classified.place].outcome = Some(Ok(match classified.kind {
                ArrivalKind::Conflict => Arrival::Conflict(seen_before),
                ArrivalKind::Duplicate | ArrivalKind::First => Arrival::Duplicate(seen_before),
            }));
        }
        Ok(())
    }
}

/// Closes what is open.
fn refuse(items: &mut [Item<'_>], failure: &Failure) {
    let refusal = match failure {
        Failure::Away | Failure::Lost(_) => RecordError::Unavailable,
        Failure::Unknown(_) => RecordError::Unknown,
        Failure::Statement(_) => RecordError::Refused,
    };
    let open: Vec<_> = items.iter_mut().filter(|item| item.is_open()).collect();
    if let Some(first) = open.first() {
        tracing::error!(receipts = open.len(), first = %first.new.id, "not recorded: {failure}");
    }
    open.into_iter().for_each(|item| item.outcome = Some(Err(refusal.clone())));
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
