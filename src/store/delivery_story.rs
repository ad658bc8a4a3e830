//! The deliveries of one receipt with all their attempts. Takes a receipt's id, gives facts for people; of a
//! destination's answer only the beginning. Never changes anything.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{Result, read, read_purpose, versions::find_version};
use crate::domain::{AttemptId, DeliveryRef, DeliveryState, Purpose, ReceiptId, why_stale};

/// A delivery, and all that was tried.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct DeliveryStory {
    /// Its id.
    #[serde(rename = "delivery")]
    pub id: DeliveryRef,
    /// The rule that asked for it.
    pub route: String,
    /// Where it ends.
    pub destination: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The lane it waits in; `None`: it waits for no other.
    pub ordering_key: Option<String>,
    /// Whether it goes by the provider's event time.
    pub by_event: bool,
    /// That it is older than what its lane had applied, if it is.
    pub stale: Option<Staleness>,
    /// Where it stands.
    pub state: DeliveryState,
    /// What makes its present round of attempts happen.
    pub trigger: String,
    /// When the next attempt may begin, by the database's clock; of no meaning once it is finished.
    pub due_at: DateTime<Utc>,
    /// Unfinished deliveries that are before it in its lane.
    pub ahead: i64,
    /// The dead delivery that holds its lane; `None`: none does.
    pub blocked_by: Option<DeliveryRef>,
    /// Workers that died while they held it.
    pub crashes: i32,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
    /// When it was planned.
    pub created_at: DateTime<Utc>,
    /// When nothing more was to happen to it.
    pub finished_at: Option<DateTime<Utc>>,
    /// What was tried, in order.
    pub attempts: Vec<AttemptFacts>,
}

/// That a delivery is older than what its lane had applied.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Staleness {
    /// The receipt that was applied.
    pub against: ReceiptId,
    /// What shows it, in a sentence that begins with `stale: `.
    pub why: String,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct AttemptFacts {
    /// Its id.
    #[serde(rename = "attempt")]
    pub id: AttemptId,
    /// From 1, through all rounds.
    pub number: i32,
    /// What made it happen.
    pub trigger: String,
    /// Who did it.
    pub worker: String,
    /// When it was opened.
    pub started_at: DateTime<Utc>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<i32>,
    /// How it ended; `None`: it has not.
    pub outcome: Option<String>,
    /// What happened, in a sentence.
    pub reason: Option<String>,
    /// What the destination answered.
    pub answer_status: Option<i32>,
    /// The first 1,000 bytes of its answer, as text.
    pub answer_beginning: Option<String>,
    /// When it was closed; `None`: it has not been.
    #[serde(default)]
    pub finished_at: Option<DateTime<Utc>>,
    /// Whether the answer was longer than what is kept of it.
    #[serde(default)]
    pub answer_is_cut: bool,
    /// All that is kept of the answer, as text. Only where one attempt is asked for: they are up to 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// The deliveries of a receipt, in the order planned, each with its attempts. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn deliveries_of(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Vec<DeliveryStory>> {
    let rows = sqlx::query!(
        r#"select d.id, d.route, d.destination, d.ordering_key, d.state, d.trigger, d.due_at, d.crashes, d.last_error,
                  d.created_at, d.finished_at, d.purpose, d.by_event, d.stale_against,
                  (select l.blocked_by from oncehook.lanes l
                   where l.route = d.route and l.ordering_key = d.ordering_key) as blocked_by,
                  (select count(*) from oncehook.deliveries before
                   where d.finished_at is null and before.finished_at is null and before.route = d.route
                     and before.ordering_key = d.ordering_key and (before.place, before.seq) < (d.place, d.seq)) as "ahead!"
           from oncehook.deliveries d where d.receipt_id = $1 order by d.id"#,
        receipt.uuid()
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut deliveries = Vec::with_capacity(rows.len());
    for row in rows {
        let id = DeliveryRef::from(row.id);
        deliveries.push(DeliveryStory {
            id,
            route: row.route,
            destination: row.destination,
            purpose: read_purpose(&row.purpose),
            ordering_key: row.ordering_key,
            by_event: row.by_event,
            stale: staleness(conn, receipt, row.stale_against.map(ReceiptId::from)).await?,
            state: read(&row.state)?,
            trigger: row.trigger,
            due_at: row.due_at,
            ahead: row.ahead,
            blocked_by: row.blocked_by.map(DeliveryRef::from),
            crashes: row.crashes,
            last_error: row.last_error,
            created_at: row.created_at,
            finished_at: row.finished_at,
            attempts: attempts_of(conn, id).await?,
        });
    }
    Ok(deliveries)
}

/// The receipt that an attempt was to deliver. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn receipt_of_attempt(conn: &mut PgConnection, id: AttemptId) -> Result<Option<ReceiptId>> {
    let receipt = sqlx::query_scalar!(
        "select d.receipt_id from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery where a.id = $1",
        id.uuid()
    )
    .fetch_optional(conn)
    .await?;
    Ok(receipt.map(ReceiptId::from))
}

/// One attempt, with all that is kept of the answer. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn find_attempt(conn: &mut PgConnection, id: AttemptId) -> Result<Option<AttemptFacts>> {
    let whole = sqlx::query!("select delivery, answer_body from oncehook.attempts where id = $1", id.uuid())
        .fetch_optional(&mut *conn)
        .await?;
    let Some(whole) = whole else { return Ok(None) };
    let all = attempts_of(conn, whole.delivery.into()).await?;
    let answer = whole.answer_body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(all.into_iter().find(|attempt| attempt.id == id).map(|attempt| AttemptFacts { answer, ..attempt }))
}

/// Why a receipt is stale against another. Takes no locks.
async fn staleness(conn: &mut PgConnection, its: ReceiptId, against: Option<ReceiptId>) -> Result<Option<Staleness>> {
    let Some(against) = against else { return Ok(None) };
    let (new, applied) = (find_version(conn, its).await?, find_version(conn, against).await?);
    let why = new.zip(applied).and_then(|(new, applied)| why_stale(&new, &applied, against));
    // The other receipt may be gone by now.
    let why = why.unwrap_or_else(|| format!("stale: its lane had applied {against}, which is newer"));
    Ok(Some(Staleness { against, why }))
}

/// Takes no locks.
async fn attempts_of(conn: &mut PgConnection, delivery: DeliveryRef) -> Result<Vec<AttemptFacts>> {
    let rows = sqlx::query!(
        r#"select id, number, trigger, worker, started_at, duration_ms, outcome, reason, answer_status,
                  substring(answer_body for 1000) as answer_beginning, finished_at, answer_is_cut
           from oncehook.attempts where delivery = $1 order by number"#,
        delivery.uuid()
    )
    .fetch_all(conn)
    .await?;
    let attempts = rows.into_iter().map(|row| AttemptFacts {
        id: row.id.into(),
        number: row.number,
        trigger: row.trigger,
        worker: row.worker,
        started_at: row.started_at,
        duration_ms: row.duration_ms,
        outcome: row.outcome,
        reason: row.reason,
        answer_status: row.answer_status,
        answer_beginning: row.answer_beginning.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        finished_at: row.finished_at,
        answer_is_cut: row.answer_is_cut,
        answer: None,
    });
    Ok(attempts.collect())
}
