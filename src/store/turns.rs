//! A worker's turn, one round trip each: settle what ended, claim what is next.
//!
//! Calls the functions of `migrations/0004_order_and_exactly_once.sql` and `0006_operators.sql` and reads what they say. Each
//! call is one transaction of its own, unless the caller has one open.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{
    Result,
    deliveries::{Claim, LastWords, Lease, Settlement, kept_text},
    jobs::Work,
    read, read_purpose,
};
use crate::domain::{
    AttemptId, DeliveryId, DeliveryRef, EventType, Headers, JobId, OrderingKey, Purpose, RouteName, Trigger,
};

/// Who asks for a turn, and for what.
#[derive(Debug, Clone)]
pub struct Asking<'a> {
    /// The job. A lane that belongs to another job gives it nothing. That is an economy; what keeps two workers apart is
    /// the lock on the head's row, and the token.
    pub job: JobId,
    /// What the job is for.
    pub work: &'a Work,
    /// The worker's name, for the lease and the attempt.
    pub worker: &'a str,
    /// How long the lease lasts.
    pub lease: Duration,
    /// The destinations that this process can reach.
    pub destinations: &'a [String],
    /// What routes and destinations ask for beyond the common case, as `next_turn` reads it.
    pub rules: &'a serde_json::Value,
    /// False: claim nothing more, only retire the lane if it is empty.
    pub may_run: bool,
}

/// The answer.
#[derive(Debug)]
pub enum Turn {
    /// It is this one's turn, and the caller holds it: the lease runs and the attempt is open.
    Run(Box<Claim>),
    /// The same, but retention has deleted the payload: there is nothing to send. It must be settled all the same.
    PayloadGone {
        /// The proof of the claim.
        lease: Lease,
        /// The rule that asked for it.
        route: RouteName,
        /// What it is for.
        purpose: Purpose,
    },
    /// The head may run at this time: it is due then, or another worker's lease ends.
    Wait(DateTime<Utc>),
    /// The head runs under a lease that is over.
    LeaseOver {
        /// The head.
        delivery: DeliveryRef,
        /// Its token.
        token: i32,
        /// The rule that asked for it.
        route: RouteName,
    },
    /// The head's route or destination is paused; the head has a note that says so. Look again at this time, unless a
    /// resume brings the job forward.
    Paused {
        /// When to look again.
        until: DateTime<Utc>,
        /// The rule that asked for the head.
        route: String,
        /// Where it wants to go.
        destination: String,
    },
    /// The head's destination is none of `destinations`.
    Unplaced {
        /// The head.
        delivery: DeliveryRef,
        /// Its token.
        token: i32,
        /// Where it wants to go.
        destination: String,
    },
    /// There is more: something was recorded just now, a stale head was skipped, or `may_run` was false.
    More,
    /// A dead delivery holds the lane. The job is deleted; the lane stays.
    Blocked,
    /// Nothing is left; the lane (if there was one) and the job are deleted.
    Retired,
    /// The lane belongs to another job, or is gone.
    Fenced,
}

/// Asks whose turn it is. Locks the head's row, waiting for whoever holds it; the lane's row only to retire it.
///
/// # Errors
/// Those of the database, and of a row that does not read.
pub async fn next_turn(conn: &mut PgConnection, asking: &Asking<'_>) -> Result<Turn> {
    let attempt = AttemptId::new();
    let (route, key, delivery) = asked_for(asking.work);
    let row = sqlx::query_as!(
        TurnRow,
        r#"select turn as "turn!", delivery, token, wait_until, tries, trigger, route, destination, ordering_key, receipt,
                  source, delivery_id, event_type, event_time, received_at, headers, body, is_stale, purpose
           from oncehook.next_turn($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"#,
        route,
        key,
        delivery,
        asking.job.to_string(),
        asking.worker,
        asking.lease.as_secs_f64(),
        asking.destinations,
        attempt.uuid(),
        asking.may_run,
        asking.rules,
    )
    .fetch_one(conn)
    .await?;
    row.into_turn(asking, attempt)
}

/// Closes the attempt, moves its delivery on, and asks whose turn it is, all in one transaction.
///
/// `None`, and nothing changed, when the lease was lost. Locks the delivery's row and the attempt's, then as
/// [`next_turn`].
///
/// # Errors
/// Those of the database, and of a row that does not read. After an error it may have happened all the same.
pub async fn settle_and_next_turn(
    conn: &mut PgConnection,
    held: &Lease,
    end: &Settlement,
    asking: &Asking<'_>,
) -> Result<Option<Turn>> {
    let attempt = AttemptId::new();
    let (route, key, delivery) = asked_for(asking.work);
    let answer = end.outcome.answer.as_ref();
    // next_turn takes its last argument from settle_delivery's answer, so that it cannot run before it.
    let row = sqlx::query_as!(
        TurnRow,
        r#"select t.turn as "turn!", t.delivery, t.token, t.wait_until, t.tries, t.trigger, t.route, t.destination,
                  t.ordering_key, t.receipt, t.source, t.delivery_id, t.event_type, t.event_time, t.received_at, t.headers,
                  t.body, t.is_stale, t.purpose
           from oncehook.settle_delivery($10, $11, $5, $12, $13, $14, $15, $16, $17, $18, $19, $20, $22) s(is_done),
                lateral oncehook.next_turn($1, $2, $3, $4, $5, $6, $7, $8, $9 and s.is_done, $21) t
           where s.is_done"#,
        route,
        key,
        delivery,
        asking.job.to_string(),
        held.worker,
        asking.lease.as_secs_f64(),
        asking.destinations,
        attempt.uuid(),
        asking.may_run,
        held.delivery.uuid(),
        held.token,
        end.state.as_str(),
        end.delay.as_secs_f64(),
        end.outcome.class.as_str(),
        kept_text(&end.outcome.reason),
        end.last_error.as_deref().map(kept_text),
        answer.map(|answer| i32::from(answer.status)),
        answer.map(|answer| &answer.body[..]),
        answer.is_some_and(|answer| answer.is_cut),
        i32::try_from(end.took.as_millis()).unwrap_or(i32::MAX),
        asking.rules,
        end.last_words.as_ref().map(LastWords::encode),
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| row.into_turn(asking, attempt)).transpose()
}

fn asked_for(work: &Work) -> (Option<&str>, Option<&str>, Option<Uuid>) {
    match work {
        Work::Lane(lane) => (Some(lane.route.as_str()), Some(lane.ordering_key.as_str()), None),
        Work::Delivery(delivery) => (None, None, Some(delivery.uuid())),
    }
}

/// The function's answer as a row: which columns are filled depends on `turn`.
struct TurnRow {
    turn: String,
    delivery: Option<Uuid>,
    token: Option<i32>,
    wait_until: Option<DateTime<Utc>>,
    tries: Option<i32>,
    trigger: Option<String>,
    route: Option<String>,
    destination: Option<String>,
    ordering_key: Option<String>,
    receipt: Option<Uuid>,
    source: Option<String>,
    delivery_id: Option<String>,
    event_type: Option<String>,
    event_time: Option<DateTime<Utc>>,
    received_at: Option<DateTime<Utc>>,
    headers: Option<Vec<u8>>,
    body: Option<Vec<u8>>,
    is_stale: Option<bool>,
    purpose: Option<String>,
}

impl TurnRow {
    fn into_turn(self, asking: &Asking<'_>, attempt: AttemptId) -> Result<Turn> {
        let head = self.delivery.map(DeliveryRef::from).zip(self.token);
        let turn = match (self.turn.as_str(), head, self.wait_until) {
            ("retired", ..) => Some(Turn::Retired),
            ("fenced", ..) => Some(Turn::Fenced),
            ("more", ..) => Some(Turn::More),
            ("blocked", ..) => Some(Turn::Blocked),
            ("wait", _, Some(until)) => Some(Turn::Wait(until)),
            ("paused", _, Some(until)) => {
                Some(Turn::Paused { until, route: filled(self.route)?, destination: filled(self.destination)? })
            }
            ("lease_over", Some((delivery, token)), _) => {
                Some(Turn::LeaseOver { delivery, token, route: read(&filled(self.route)?)? })
            }
            ("unplaced", Some((delivery, token)), _) => {
                Some(Turn::Unplaced { delivery, token, destination: self.destination.unwrap_or_default() })
            }
            ("run", Some((delivery, token)), _) => {
                let lease = Lease { delivery, token, worker: asking.worker.to_owned() };
                return self.into_claim(lease, attempt);
            }
            _ => None,
        };
        turn.ok_or_else(|| unreadable("next_turn gave an answer that this version does not know"))
    }

    fn into_claim(self, lease: Lease, attempt: AttemptId) -> Result<Turn> {
        let (route, purpose) = (read(&filled(self.route)?)?, read_purpose(&filled(self.purpose)?));
        let (Some(headers), Some(body)) = (self.headers, self.body) else {
            return Ok(Turn::PayloadGone { lease, route, purpose });
        };
        Ok(Turn::Run(Box::new(Claim {
            lease,
            attempt,
            route,
            tries: filled(self.tries)?,
            trigger: read_trigger(&filled(self.trigger)?),
            destination: read(&filled(self.destination)?)?,
            ordering_key: self.ordering_key.as_deref().map(OrderingKey::new),
            receipt: filled(self.receipt)?.into(),
            source: read(&filled(self.source)?)?,
            delivery_id: DeliveryId::parse(filled(self.delivery_id)?.as_bytes())
                .map_err(|e| unreadable(&e.to_string()))?,
            event_type: EventType::new(&filled(self.event_type)?),
            event_time: self.event_time,
            received_at: filled(self.received_at)?,
            headers: Headers::from_wire(&headers),
            body: body.into(),
            is_stale: filled(self.is_stale)?,
            purpose,
        })))
    }
}

fn filled<T>(column: Option<T>) -> Result<T> {
    column.ok_or_else(|| unreadable("next_turn left a column of a claim empty"))
}

fn unreadable(what: &str) -> super::StoreError {
    sqlx::Error::Decode(what.into()).into()
}

fn read_trigger(text: &str) -> Trigger {
    [Trigger::Manual, Trigger::Redelivery]
        .into_iter()
        .find(|trigger| trigger.as_str() == text)
        .unwrap_or(Trigger::Automatic)
}
