//! `oncehook.deliveries` under a lease.
//!
//! `attempts` of the row is the fencing token: every claim counts it up, and nothing moves a running delivery whose
//! token is not the caller's. Claiming and settling are in `turns`.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{
    Result,
    jobs::{RunAt, Work},
    read,
};
use crate::domain::{
    AttemptId, DeliveryId, DeliveryRef, DeliveryState, DestinationName, EventType, Headers, JobId, OrderingKey,
    Outcome, Purpose, ReceiptId, RouteName, SourceName, Trigger,
};

/// Who holds a running delivery. Renewing and settling need all three to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The delivery.
    pub delivery: DeliveryRef,
    /// The number of the open attempt.
    pub token: i32,
    /// The worker, whose name begins with its instance's.
    pub worker: String,
}

/// A delivery that the caller has claimed, with all that its destination needs.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The proof of the claim.
    pub lease: Lease,
    /// The open attempt. Its number is `lease.token`.
    pub attempt: AttemptId,
    /// Attempts of this round, this one included: what `retry.attempts` limits.
    pub tries: i32,
    /// What made this attempt happen.
    pub trigger: Trigger,
    /// The rule that asked for the delivery.
    pub route: RouteName,
    /// Where it goes.
    pub destination: DestinationName,
    /// Its lane's key, if it has a lane.
    pub ordering_key: Option<OrderingKey>,
    /// The event.
    pub receipt: ReceiptId,
    /// Its way in.
    pub source: SourceName,
    /// Its id at the provider.
    pub delivery_id: DeliveryId,
    /// What kind of event.
    pub event_type: EventType,
    /// When it happened, by the provider.
    pub event_time: Option<DateTime<Utc>>,
    /// When it came in.
    pub received_at: DateTime<Utc>,
    /// The header lines that came in.
    pub headers: Headers,
    /// The body that came in, byte for byte.
    pub body: Bytes,
    /// Whether its lane has applied something newer (`on_stale = "deliver"`).
    pub is_stale: bool,
    /// What it is for.
    pub purpose: Purpose,
}

/// Prolongs a lease to `lease` from now, by the database's clock. False when it is lost. Locks the delivery's row.
///
/// # Errors
/// Those of the database.
pub async fn renew_lease(conn: &mut PgConnection, held: &Lease, lease: Duration) -> Result<bool> {
    let done = sqlx::query!(
        "update oncehook.deliveries set lease_expires_at = oncehook.now() + make_interval(secs => $4)
         where id = $1 and state = 'running' and attempts = $2 and leased_by = $3",
        held.delivery.uuid(),
        held.token,
        held.worker,
        lease.as_secs_f64(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Where an attempt's outcome leaves its delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct Settlement {
    /// `Succeeded`, `Retrying`, `Dead`, or `Queued` for work that a shutdown interrupted.
    pub state: DeliveryState,
    /// With `Retrying`: how long until the next attempt.
    pub delay: Duration,
    /// What an operator reads beside the delivery; `None` once it has succeeded.
    pub last_error: Option<String>,
    /// What the attempt came to.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// With `Dead`: what it leaves behind.
    pub last_words: Option<LastWords>,
}

/// What a dying delivery leaves behind, as its route asks.
#[derive(Debug, Clone, PartialEq)]
pub struct LastWords {
    /// Its lane is blocked (`on_dead = "block"`).
    pub blocks: bool,
    /// What goes to another destination in its stead (`on_dead_destination`).
    pub compensation: Option<Compensation>,
}

/// A compensation, before it is recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Compensation {
    /// Its own id, and so its own idempotency key.
    pub delivery: DeliveryRef,
    /// Where it goes.
    pub destination: DestinationName,
    /// The job that runs it where there is no lane.
    pub job: JobId,
}

impl LastWords {
    pub(super) fn encode(&self) -> serde_json::Value {
        let compensation = self.compensation.as_ref().map(|compensation| {
            serde_json::json!({
                "delivery": compensation.delivery.uuid().to_string(), "text": compensation.delivery.to_string(),
                "destination": compensation.destination.as_str(), "job": compensation.job.to_string(),
            })
        });
        serde_json::json!({ "blocks": self.blocks, "compensate": compensation })
    }
}

/// Takes a delivery back from a worker whose lease ran out: the attempt is closed as unknown, the crash is counted,
/// and the delivery is queued again or, at `crashes_max`, dead, and leaves `last_words`.
///
/// `None` when the lease holds after all. Locks the delivery's row and the attempt's; where it dies the lane's.
///
/// # Errors
/// Those of the database.
pub async fn take_back(
    conn: &mut PgConnection,
    delivery: DeliveryRef,
    token: i32,
    crashes_max: i32,
    last_words: &LastWords,
) -> Result<Option<DeliveryState>> {
    let state = sqlx::query_scalar!(
        "select oncehook.take_back_delivery($1, $2, $3, $4)",
        delivery.uuid(),
        token,
        crashes_max,
        last_words.encode(),
    )
    .fetch_one(conn)
    .await?;
    state.map(|state| read(&state)).transpose()
}

/// Notes on a delivery why it waits. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn note_waiting(conn: &mut PgConnection, delivery: DeliveryRef, token: i32, why: &str) -> Result<()> {
    sqlx::query!(
        "update oncehook.deliveries set last_error = $3 where id = $1 and attempts = $2 and finished_at is null",
        delivery.uuid(),
        token,
        kept_text(why),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives a delivery without a lane a fresh job, due at `run_at`, and takes the old one off the queue.
///
/// False when it did not belong to `old` any more, or is finished. Locks the delivery's row, then the old job's.
///
/// # Errors
/// Those of the database.
pub async fn replace_lone_job(
    conn: &mut PgConnection,
    delivery: DeliveryRef,
    old: &str,
    fresh: JobId,
    run_at: RunAt,
) -> Result<bool> {
    let done = sqlx::query_scalar!(
        r#"with mine as (
               update oncehook.deliveries set job_id = $3
               where id = $1 and coalesce(job_id, '') = $2 and ordering_key is null and finished_at is null
               returning job_id
           ), fresh as (
               insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
               select job_id, 'oncehook', $4, 'Pending', 0, 1000000, coalesce($5, oncehook.now() + make_interval(secs => $6)), 0
               from mine
           ), gone as (
               delete from apalis.jobs where id = $2 and exists (select from mine)
           )
           select exists (select from mine) as "is_done!""#,
        delivery.uuid(),
        old,
        fresh.to_string(),
        Work::Delivery(delivery).encode(),
        run_at.at(),
        run_at.after_seconds(),
    )
    .fetch_one(conn)
    .await?;
    Ok(done)
}

/// How much of a reason is kept beside a delivery and its attempt, in characters.
const REASON_LENGTH_MAX: usize = 500;

/// Reasons quote destinations, and PostgreSQL's text takes no NUL.
pub(super) fn kept_text(text: &str) -> String {
    text.chars().take(REASON_LENGTH_MAX).map(|letter| if letter == '\0' { '\u{fffd}' } else { letter }).collect()
}
