//! Conflicts in pages, newest first, and the facts of one. Reads only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;

/// Which conflicts; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ConflictCriteria {
    /// Their receipt came in here.
    pub source: Option<String>,
    /// Their receipt is one of these.
    pub receipts: Option<Vec<Uuid>>,
    /// Promoted, or not.
    pub promoted: Option<bool>,
    /// Only this one.
    pub conflict: Option<i64>,
}

/// One conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictRow {
    /// Its number.
    pub conflict: i64,
    /// The receipt that was first.
    pub receipt: Uuid,
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
    pub promoted_to: Option<Uuid>,
    /// When.
    pub promoted_at: Option<DateTime<Utc>>,
}

/// The conflicts that pass, behind `before`. Conflicts are rare, so that the filters are looked at row by row. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn page_of_conflicts(
    conn: &mut PgConnection,
    criteria: &ConflictCriteria,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<ConflictRow>> {
    Ok(sqlx::query_as!(
        ConflictRow,
        r#"select c.id as conflict, c.receipt_id as receipt, r.source, r.delivery_id, c.event_type, c.arrived_at,
                  encode(c.body_digest, 'hex') as "body_digest!", octet_length(c.body) as "body_bytes!", c.promoted_to,
                  c.promoted_at
           from oncehook.conflicts c join oncehook.receipts r on r.id = c.receipt_id
           where c.id < coalesce($1, 9223372036854775807) and ($2::text is null or r.source = $2)
             and ($3::uuid[] is null or c.receipt_id = any($3)) and ($4::bool is null or (c.promoted_to is not null) = $4)
             and ($5::bigint is null or c.id = $5)
           order by c.id desc limit $6"#,
        before,
        criteria.source,
        criteria.receipts.as_deref(),
        criteria.promoted,
        criteria.conflict,
        limit,
    )
    .fetch_all(conn)
    .await?)
}
