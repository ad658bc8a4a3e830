//! Conflicts: other payloads that came under the delivery id of a receipt.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Page, Result};
use crate::{domain::ReceiptId, store::receipt_story::Payload};

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

impl Desk {
    /// Conflicts, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn conflicts(&self, query: &ConflictQuery) -> Result<Page<ConflictLine>> {
        let _ = query;
        let mut conn = self.pool.acquire().await?;
        let ids: Vec<i64> = sqlx::query_scalar("select id from oncehook.conflicts order by id desc limit 50")
            .fetch_all(&mut *conn)
            .await?;
        drop(conn);
        let mut items = Vec::new();
        for id in ids {
            items.push(self.conflict(id).await?.line);
        }
        Ok(Page { items, next: None })
    }

    /// One conflict, with both payloads.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn conflict(&self, conflict: i64) -> Result<ConflictStory> {
        type Row = (uuid::Uuid, String, DateTime<Utc>, Vec<u8>, Vec<u8>, Option<uuid::Uuid>);
        let mut conn = self.pool.acquire().await?;
        let row: Option<Row> = sqlx::query_as(
            "select receipt_id, event_type, arrived_at, headers, body, promoted_to from oncehook.conflicts where id = $1",
        )
        .bind(conflict)
        .fetch_optional(&mut *conn)
        .await?;
        let gone = || OperateError::NotFound { what: "conflict", name: conflict.to_string() };
        let (receipt, event_type, arrived_at, headers, body, promoted) = row.ok_or_else(gone)?;
        let receipt = ReceiptId::from(receipt);
        drop(conn);
        let story = self.receipt(receipt).await?;
        Ok(ConflictStory {
            line: ConflictLine {
                conflict,
                receipt,
                source: story.facts.source,
                delivery_id: story.facts.delivery_id,
                event_type,
                arrived_at,
                body_digest: crate::domain::Digest::of(&body).to_string(),
                body_bytes: i32::try_from(body.len()).unwrap_or(0),
                promoted_to: promoted.map(ReceiptId::from),
                promoted_at: None,
            },
            first: self.payload(receipt).await.ok(),
            other: Payload { headers: crate::domain::Headers::from_wire(&headers), body },
        })
    }
}
