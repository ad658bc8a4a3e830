//! Deliveries as one line each, newest first. Takes filters, gives facts for lists; never reads bodies.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, read};
use crate::domain::{DeliveryRef, DeliveryState, ReceiptId};

/// Which deliveries to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Stands here.
    pub state: Option<DeliveryState>,
    /// Comes from this rule.
    pub route: Option<String>,
    /// Its receipt came in here.
    pub source: Option<String>,
    /// Is older than this one: the last of a page, to get the next page.
    pub before: Option<DeliveryRef>,
    /// At most so many.
    pub limit: u32,
}

/// One delivery in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct DeliveryLine {
    /// Its id.
    #[serde(rename = "delivery")]
    pub id: DeliveryRef,
    /// What it delivers.
    pub receipt: ReceiptId,
    /// The way in of its receipt.
    pub source: String,
    /// What kind of event.
    pub event_type: String,
    /// The provider's own id.
    pub delivery_id: String,
    /// The rule that asked for it.
    pub route: String,
    /// Where it ends.
    pub destination: String,
    /// The lane it waits in.
    pub ordering_key: Option<String>,
    /// Where it stands.
    pub state: DeliveryState,
    /// Attempts ever opened.
    pub attempts: i32,
    /// When the next attempt may begin, by the database's clock; of no meaning once it is finished.
    pub due_at: DateTime<Utc>,
    /// When nothing more was to happen to it.
    pub finished_at: Option<DateTime<Utc>>,
    /// Why the last attempt did not succeed.
    pub last_error: Option<String>,
}

/// The deliveries that pass the filter, newest first. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn list_deliveries(conn: &mut PgConnection, filter: &DeliveryFilter) -> Result<Vec<DeliveryLine>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select d.id, d.receipt_id, r.source, r.event_type, r.delivery_id, d.route, d.destination, d.ordering_key,
                  d.state, d.attempts, d.due_at, d.finished_at, d.last_error
           from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
           where ($1::uuid is null or d.id < $1)
             and ($2::text is null or d.state = $2)
             and ($3::text is null or d.route = $3)
             and ($4::text is null or r.source = $4)
           order by d.id desc
           limit $5"#,
        filter.before.map(DeliveryRef::uuid),
        filter.state.map(DeliveryState::as_str),
        filter.route.as_deref(),
        filter.source.as_deref(),
        i64::from(filter.limit),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_line).collect()
}

/// The lines of deliveries, by their receipts newest first. Those that are not there are left out. Takes no locks.
///
/// # Errors
/// As [`list_deliveries`].
pub async fn delivery_lines(conn: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<DeliveryLine>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select d.id, d.receipt_id, r.source, r.event_type, r.delivery_id, d.route, d.destination, d.ordering_key,
                  d.state, d.attempts, d.due_at, d.finished_at, d.last_error
           from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
           where d.id = any($1)
           order by d.receipt_id desc, d.id desc"#,
        ids
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_line).collect()
}

struct Row {
    id: Uuid,
    receipt_id: Uuid,
    source: String,
    event_type: String,
    delivery_id: String,
    route: String,
    destination: String,
    ordering_key: Option<String>,
    state: String,
    attempts: i32,
    due_at: DateTime<Utc>,
    finished_at: Option<DateTime<Utc>>,
    last_error: Option<String>,
}

impl Row {
    fn into_line(self) -> Result<DeliveryLine> {
        Ok(DeliveryLine {
            id: self.id.into(),
            receipt: self.receipt_id.into(),
            source: self.source,
            event_type: self.event_type,
            delivery_id: self.delivery_id,
            route: self.route,
            destination: self.destination,
            ordering_key: self.ordering_key,
            state: read(&self.state)?,
            attempts: self.attempts,
            due_at: self.due_at,
            finished_at: self.finished_at,
            last_error: self.last_error,
        })
    }
}
