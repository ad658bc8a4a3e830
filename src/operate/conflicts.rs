//! Conflicts: other payloads that came under the delivery id of a receipt.

use chrono::{DateTime, Utc};

use super::{
    Desk, OperateError, Page, Result,
    page::{key_of, limit_of, text_of},
};
use crate::{
    domain::ReceiptId,
    store::{
        conflict_list::{ConflictCriteria, ConflictRow, page_of_conflicts},
        promotions::read_stored_conflict,
        receipt_search::{ReceiptCriteria, search_receipts},
        receipt_story::{Payload, begin_reading, read_payload},
    },
};

/// Which conflicts. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
pub struct ConflictQuery {
    /// Their receipt came in here.
    pub source: Option<String>,
    /// Under this id of the provider's.
    pub delivery_id: Option<String>,
    /// Only those that were promoted, or only those that were not.
    pub promoted: Option<bool>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

/// One conflict in a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ConflictLine {
    /// Its number.
    pub conflict: i64,
    /// The receipt that was first.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// The way in.
    pub source: String,
    /// The id that both came under.
    pub delivery_id: String,
    /// What kind of event it says it is.
    pub event_type: String,
    /// When it had been read whole.
    pub arrived_at: DateTime<Utc>,
    /// SHA-256 of its body, in hex.
    pub body_digest: String,
    /// The size of its body.
    pub body_bytes: i32,
    /// The receipt that an operator made of it.
    #[schema(value_type = Option<String>)]
    pub promoted_to: Option<ReceiptId>,
    /// When.
    pub promoted_at: Option<DateTime<Utc>>,
}

/// One conflict with both payloads.
#[derive(Debug, Clone)]
pub struct ConflictStory {
    /// What is known about it.
    pub line: ConflictLine,
    /// What the first request had; `None` once its time is over.
    pub first: Option<Payload>,
    /// What this one has.
    pub other: Payload,
}

const LIST: &str = "conflicts 1";

/// Receipts that share an id of the provider's are looked at up to so many.
const ALIKE_MAX: i64 = 1_000;

impl Desk {
    /// Conflicts, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn conflicts(&self, query: &ConflictQuery) -> Result<Page<ConflictLine>> {
        let limit = limit_of(query.limit)?;
        let before = key_of(LIST, query.cursor.as_deref())?;
        let source = text_of("source", query.source.as_ref())?;
        let delivery_id = text_of("delivery_id", query.delivery_id.as_ref())?;
        let mut conn = self.pool.acquire().await?;
        let receipts = if delivery_id.is_some() {
            let criteria = ReceiptCriteria { source: source.clone(), delivery_id, ..ReceiptCriteria::default() };
            Some(search_receipts(&mut conn, &criteria, None, ALIKE_MAX).await?.found)
        } else {
            None
        };
        let criteria = ConflictCriteria { source, receipts, promoted: query.promoted, conflict: None };
        // One more tells whether there is a next page.
        let rows = page_of_conflicts(&mut conn, &criteria, before, i64::from(limit) + 1).await?;
        let lines = rows.into_iter().map(ConflictLine::of).collect();
        Ok(Page::of(lines, limit, LIST, |line: &ConflictLine| line.conflict))
    }

    /// One conflict, with both payloads.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn conflict(&self, conflict: i64) -> Result<ConflictStory> {
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let criteria = ConflictCriteria { conflict: Some(conflict), ..ConflictCriteria::default() };
        let row = page_of_conflicts(&mut tx, &criteria, None, 1).await?.pop();
        let stored = read_stored_conflict(&mut tx, conflict).await?;
        let missing = || OperateError::NotFound { what: "conflict", name: conflict.to_string() };
        let (row, stored) = row.zip(stored).ok_or_else(missing)?;
        let first = read_payload(&mut tx, stored.receipt).await?;
        tx.commit().await?;
        Ok(ConflictStory { line: ConflictLine::of(row), first, other: stored.payload })
    }
}

impl ConflictLine {
    fn of(row: ConflictRow) -> Self {
        Self {
            conflict: row.conflict,
            receipt: row.receipt.into(),
            source: row.source,
            delivery_id: row.delivery_id,
            event_type: row.event_type,
            arrived_at: row.arrived_at,
            body_digest: row.body_digest,
            body_bytes: row.body_bytes,
            promoted_to: row.promoted_to.map(ReceiptId::from),
            promoted_at: row.promoted_at,
        }
    }
}
