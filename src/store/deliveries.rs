//! `oncehook.deliveries` on its way through a worker: look, claim, renew, settle. `attempts` of the row is the fencing
//! token: every claim counts it up, and nothing below moves a running delivery whose token is not the caller's.
//! Attempts open with the claim and close with what settles it, in the same statement.

use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    Result,
    jobs::{RunAt, Work},
    read,
};
use crate::domain::{
    AttemptId, DeliveryId, DeliveryRef, DeliveryState, DestinationName, EventType, Headers, JobId, OrderingKey,
    Outcome, OutcomeClass, ReceiptId, RouteName, SourceName, Trigger,
};

/// The delivery whose turn it is, its row locked.
#[derive(Debug, Clone)]
pub struct Head {
    /// Which one.
    pub delivery: DeliveryRef,
    /// Its fencing token so far.
    pub token: i32,
    /// Where it stands.
    pub state: String,
    /// Where it goes.
    pub destination: String,
    /// When it may run.
    pub due_at: DateTime<Utc>,
    /// Whether that is now or was before, by the database's clock.
    pub is_due: bool,
    /// Until when a worker holds it, while it runs.
    pub lease_expires_at: Option<DateTime<Utc>>,
    /// Whether that has passed, by the database's clock.
    pub lease_is_over: bool,
}

/// [`Head`] as an outer join gives it.
pub(super) struct HeadRow {
    pub id: Option<Uuid>,
    pub state: Option<String>,
    pub token: Option<i32>,
    pub destination: Option<String>,
    pub due_at: Option<DateTime<Utc>>,
    pub lease_expires_at: Option<DateTime<Utc>>,
    pub is_due: Option<bool>,
    pub lease_is_over: Option<bool>,
}

impl HeadRow {
    pub(super) fn into_head(self) -> Option<Head> {
        Some(Head {
            delivery: self.id?.into(),
            token: self.token?,
            state: self.state?,
            destination: self.destination?,
            due_at: self.due_at?,
            is_due: self.is_due?,
            lease_expires_at: self.lease_expires_at,
            lease_is_over: self.lease_is_over.unwrap_or(false),
        })
    }
}

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
}

/// What a claim found.
#[derive(Debug)]
pub enum Claimed {
    /// All that its destination needs.
    Whole(Box<Claim>),
    /// Retention has deleted the payload: there is nothing to send. The lease must be settled all the same.
    PayloadGone(Lease),
}

/// Looks at a delivery without a lane, if it is unfinished and belongs to `job`. Locks its row, waiting for whoever holds it.
///
/// # Errors
/// Those of the database.
pub async fn lock_lone_delivery(conn: &mut PgConnection, delivery: DeliveryRef, job: JobId) -> Result<Option<Head>> {
    let row = sqlx::query_as!(
        HeadRow,
        r#"select id as "id?", state as "state?", attempts as "token?", destination as "destination?",
                  due_at as "due_at?", lease_expires_at, due_at <= oncehook.now() as "is_due?",
                  lease_expires_at <= oncehook.now() as "lease_is_over?"
           from oncehook.deliveries
           where id = $1 and job_id = $2 and ordering_key is null and finished_at is null for update"#,
        delivery.uuid(),
        job.to_string(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.and_then(HeadRow::into_head))
}

/// Claims a head that the caller has locked: it runs under `worker`'s lease, and its attempt is open. Locks the
/// delivery's row.
///
/// # Errors
/// Those of the database, and of a row that does not read.
pub async fn claim_head(conn: &mut PgConnection, head: &Head, worker: &str, lease: Duration) -> Result<Claimed> {
    let attempt = AttemptId::new();
    let row = sqlx::query!(
        r#"with claimed as (
               update oncehook.deliveries
               set state = 'running', attempts = attempts + 1, tries = tries + 1, leased_by = $3,
                   lease_expires_at = oncehook.now() + make_interval(secs => $4)
               where id = $1 and attempts = $2 and state in ('waiting', 'queued', 'retrying')
               returning id, receipt_id, attempts, tries, trigger, route, destination, ordering_key
           ), opened as (
               insert into oncehook.attempts (id, delivery, number, trigger, worker)
               select $5, id, attempts, trigger, $3 from claimed
           )
           select c.receipt_id, c.attempts, c.tries, c.trigger, c.route, c.destination, c.ordering_key, r.source,
                  r.delivery_id, r.event_type, r.event_time, r.received_at, p.headers as "headers?", p.body as "body?"
           from claimed c join oncehook.receipts r on r.id = c.receipt_id
           left join oncehook.payloads p on p.receipt_id = c.receipt_id"#,
        head.delivery.uuid(),
        head.token,
        worker,
        lease.as_secs_f64(),
        attempt.uuid(),
    )
    .fetch_one(conn)
    .await?;
    let lease = Lease { delivery: head.delivery, token: row.attempts, worker: worker.to_owned() };
    let Some((headers, body)) = row.headers.zip(row.body) else {
        return Ok(Claimed::PayloadGone(lease));
    };
    Ok(Claimed::Whole(Box::new(Claim {
        lease,
        attempt,
        tries: row.tries,
        trigger: read_trigger(&row.trigger),
        route: read(&row.route)?,
        destination: read(&row.destination)?,
        ordering_key: row.ordering_key.as_deref().map(OrderingKey::new),
        receipt: row.receipt_id.into(),
        source: read(&row.source)?,
        delivery_id: DeliveryId::parse(row.delivery_id.as_bytes()).map_err(|e| sqlx::Error::Decode(e.into()))?,
        event_type: EventType::new(&row.event_type),
        event_time: row.event_time,
        received_at: row.received_at,
        headers: Headers::from_wire(&headers),
        body: body.into(),
    })))
}

fn read_trigger(text: &str) -> Trigger {
    [Trigger::Manual, Trigger::Redelivery]
        .into_iter()
        .find(|trigger| trigger.as_str() == text)
        .unwrap_or(Trigger::Automatic)
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
    /// What the attempt came to.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// Closes the attempt and moves the delivery on, if the caller's lease still holds; false, and nothing changed, if not.
/// An interrupted delivery gets its try back. Locks the delivery's row and the attempt's.
///
/// # Errors
/// Those of the database.
pub async fn settle_delivery(conn: &mut PgConnection, held: &Lease, end: &Settlement) -> Result<bool> {
    let reason = kept_text(&end.outcome.reason);
    let answer = end.outcome.answer.as_ref();
    let last_error = (end.state != DeliveryState::Succeeded).then_some(reason.as_str());
    let done = sqlx::query_scalar!(
        r#"with moved as (
               update oncehook.deliveries
               set state = $4, leased_by = null, lease_expires_at = null, last_error = $6,
                   due_at = case when $4 = 'retrying' then oncehook.now() + make_interval(secs => $5) else due_at end,
                   tries = case when $4 = 'queued' then tries - 1 else tries end,
                   finished_at = case when $4 in ('succeeded', 'dead') then oncehook.now() end
               where id = $1 and state = 'running' and attempts = $2 and leased_by = $3
               returning id, attempts
           ), closed as (
               update oncehook.attempts a
               set finished_at = oncehook.now(), outcome = $7, reason = $8, answer_status = $9, answer_body = $10,
                   answer_is_cut = $11, duration_ms = $12
               from moved where a.delivery = moved.id and a.number = moved.attempts
           )
           select exists (select from moved) as "is_done!""#,
        held.delivery.uuid(),
        held.token,
        held.worker,
        end.state.as_str(),
        end.delay.as_secs_f64(),
        last_error,
        end.outcome.class.as_str(),
        reason,
        answer.map(|answer| i32::from(answer.status)),
        answer.map(|answer| &answer.body[..]),
        answer.is_some_and(|answer| answer.is_cut),
        i32::try_from(end.took.as_millis()).unwrap_or(i32::MAX),
    )
    .fetch_one(conn)
    .await?;
    Ok(done)
}

/// Takes a delivery back from a worker whose lease ran out: the attempt is closed as unknown, the crash is counted, and
/// the delivery is queued again or, at `crashes_max`, dead. `None` when the lease holds after all. Locks the delivery's
/// row and the attempt's.
///
/// # Errors
/// Those of the database.
pub async fn take_back(conn: &mut PgConnection, head: &Head, crashes_max: i32) -> Result<Option<DeliveryState>> {
    let state = sqlx::query_scalar!(
        r#"with moved as (
               update oncehook.deliveries
               set crashes = crashes + 1, leased_by = null, lease_expires_at = null,
                   state = case when crashes + 1 >= $3 then 'dead' else 'queued' end,
                   finished_at = case when crashes + 1 >= $3 then oncehook.now() end,
                   last_error = case when crashes + 1 >= $3
                                then 'crashed worker: ' || crashes + 1 || ' workers died while they held it'
                                else 'the worker died or lost its lease' end
               where id = $1 and attempts = $2 and state = 'running' and lease_expires_at <= oncehook.now()
               returning id, attempts, state
           ), closed as (
               update oncehook.attempts a
               set finished_at = oncehook.now(), outcome = $4, reason = 'the worker died or lost its lease'
               from moved where a.delivery = moved.id and a.number = moved.attempts and a.finished_at is null
           )
           select state from moved"#,
        head.delivery.uuid(),
        head.token,
        crashes_max,
        OutcomeClass::Unknown.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    state.map(|state| read(&state)).transpose()
}

/// Notes on a delivery why it waits. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn note_waiting(conn: &mut PgConnection, head: &Head, why: &str) -> Result<()> {
    sqlx::query!(
        "update oncehook.deliveries set last_error = $3 where id = $1 and attempts = $2 and finished_at is null",
        head.delivery.uuid(),
        head.token,
        kept_text(why),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives a delivery without a lane a fresh job, due at `run_at`, and takes the old one off the queue. False
/// when it did not belong to `old` any more, or is finished. Locks the delivery's row, then the old job's.
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
fn kept_text(text: &str) -> String {
    text.chars().take(REASON_LENGTH_MAX).map(|letter| if letter == '\0' { '\u{fffd}' } else { letter }).collect()
}
