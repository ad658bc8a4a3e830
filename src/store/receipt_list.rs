//! Receipts as one line each, newest first. Takes filters, gives facts for lists; never reads headers or bodies.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, read};
use crate::domain::{DeliveryState, ReceiptId};

/// Which receipts to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ReceiptFilter {
    /// Came in here.
    pub source: Option<String>,
    /// This event type, or one below it: `pull_request` finds `pull_request.opened`.
    pub event_type: Option<String>,
    /// Carries this id of the provider's.
    pub delivery_id: Option<String>,
    /// Has a delivery in this state (and of `route`, where that is set too).
    pub state: Option<DeliveryState>,
    /// Has a delivery of this route.
    pub route: Option<String>,
    /// Is older than this one: the last of a page, to get the next page.
    pub before: Option<ReceiptId>,
    /// At most so many.
    pub limit: u32,
}

/// One receipt in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ReceiptLine {
    /// Its id.
    #[serde(rename = "receipt")]
    pub id: ReceiptId,
    /// When its first request had been read whole.
    pub received_at: DateTime<Utc>,
    /// The way in.
    pub source: String,
    /// What kind of event.
    pub event_type: String,
    /// The provider's own id.
    pub delivery_id: String,
    /// HTTP requests for it, the first included.
    pub arrivals: i64,
    /// The states of its deliveries, in the order in which they were planned.
    pub deliveries: Vec<DeliveryState>,
    /// Remarks for the operator.
    pub flags: Vec<String>,
}

struct Row {
    id: Uuid,
    received_at: DateTime<Utc>,
    source: String,
    event_type: String,
    delivery_id: String,
    later_arrivals: i64,
    states: Vec<String>,
    flags: Vec<String>,
}

/// The receipts that pass the filter, newest first. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn list_receipts(conn: &mut PgConnection, filter: &ReceiptFilter) -> Result<Vec<ReceiptLine>> {
    let rows = match &filter.delivery_id {
        None => newest(conn, filter).await?,
        Some(delivery_id) => with_delivery_id(conn, filter, delivery_id).await?,
    };
    rows.into_iter().map(Row::into_line).collect()
}

/// Walks the primary key from its end. Takes no locks.
async fn newest(conn: &mut PgConnection, filter: &ReceiptFilter) -> Result<Vec<Row>> {
    Ok(sqlx::query_file_as!(
        Row,
        "src/store/receipt_list.sql",
        filter.before.map(ReceiptId::uuid),
        filter.source.as_deref(),
        filter.event_type.as_deref(),
        filter.state.map(DeliveryState::as_str),
        filter.route.as_deref(),
        i64::from(filter.limit),
    )
    .fetch_all(conn)
    .await?)
}

/// Looks up one delivery id in every source through the index of the receipts' identity. Takes no locks.
async fn with_delivery_id(conn: &mut PgConnection, filter: &ReceiptFilter, delivery_id: &str) -> Result<Vec<Row>> {
    Ok(sqlx::query_file_as!(
        Row,
        "src/store/receipt_list_by_delivery_id.sql",
        delivery_id,
        filter.before.map(ReceiptId::uuid),
        filter.source.as_deref(),
        filter.event_type.as_deref(),
        filter.state.map(DeliveryState::as_str),
        filter.route.as_deref(),
        i64::from(filter.limit),
    )
    .fetch_all(conn)
    .await?)
}

/// The lines of receipts, newest first. Those that are not there are left out. Takes no locks.
///
/// # Errors
/// As [`list_receipts`].
pub async fn receipt_lines(conn: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<ReceiptLine>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select r.id, r.received_at, r.source, r.event_type, r.delivery_id, r.flags,
                  (select coalesce(sum(1 + a.repeats), 0) from oncehook.arrivals a
                   where a.receipt_id = r.id) as "later_arrivals!",
                  array(select d.state from oncehook.deliveries d where d.receipt_id = r.id order by d.id) as "states!"
           from oncehook.receipts r where r.id = any($1) order by r.id desc"#,
        ids
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Row::into_line).collect()
}

impl Row {
    fn into_line(self) -> Result<ReceiptLine> {
        Ok(ReceiptLine {
            id: self.id.into(),
            received_at: self.received_at,
            source: self.source,
            event_type: self.event_type,
            delivery_id: self.delivery_id,
            arrivals: 1 + self.later_arrivals,
            deliveries: self.states.iter().map(|word| read(word)).collect::<Result<_>>()?,
            flags: self.flags,
        })
    }
}
