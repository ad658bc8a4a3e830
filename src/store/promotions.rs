//! What making a receipt of a conflict needs: the conflict as it is stored, its row's lock, and the note that it was done.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{Result, read, receipt_story::Payload};
use crate::domain::{Headers, ReceiptId, SourceName};

/// A conflict, as far as promoting looks at it.
#[derive(Debug)]
pub struct StoredConflict {
    /// The receipt that was first.
    pub receipt: ReceiptId,
    /// The way in of both.
    pub source: SourceName,
    /// The id that both came under.
    pub delivery_id: String,
    /// When it had been read whole.
    pub arrived_at: DateTime<Utc>,
    /// The secret that matched.
    pub secret_fingerprint: Option<String>,
    /// What it brought.
    pub payload: Payload,
    /// The receipt that was made of it before.
    pub promoted_to: Option<ReceiptId>,
}

/// Reads a conflict with its payload; `None` when there is no such conflict. Takes no locks.
///
/// # Errors
/// Those of the database, and of a row that does not read.
pub async fn read_stored_conflict(conn: &mut PgConnection, conflict: i64) -> Result<Option<StoredConflict>> {
    let row = sqlx::query!(
        "select c.receipt_id, r.source, r.delivery_id, c.arrived_at, c.secret_fingerprint, c.headers, c.body, c.promoted_to
         from oncehook.conflicts c join oncehook.receipts r on r.id = c.receipt_id where c.id = $1",
        conflict
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(StoredConflict {
        receipt: row.receipt_id.into(),
        source: read(&row.source)?,
        delivery_id: row.delivery_id,
        arrived_at: row.arrived_at,
        secret_fingerprint: row.secret_fingerprint,
        payload: Payload { headers: Headers::from_wire(&row.headers), body: row.body },
        promoted_to: row.promoted_to.map(ReceiptId::from),
    }))
}

/// Takes a conflict's row for the rest of the transaction, and gives the receipt that was made of it before, if one was;
/// `None` when there is no such conflict. Take it before any lane.
///
/// From then on the transaction finds rows by index, as recording does (see [`for_recording`](super::connect::for_recording)).
///
/// # Errors
/// Those of the database.
pub async fn lock_conflict(conn: &mut PgConnection, conflict: i64) -> Result<Option<Option<ReceiptId>>> {
    let promoted = sqlx::query_scalar!("select promoted_to from oncehook.conflicts where id = $1 for update", conflict)
        .fetch_optional(&mut *conn)
        .await?;
    sqlx::query!("set local enable_seqscan = off").execute(conn).await?;
    Ok(promoted.map(|receipt| receipt.map(ReceiptId::from)))
}

/// Notes which receipt was made of a conflict. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn note_promotion(conn: &mut PgConnection, conflict: i64, receipt: ReceiptId) -> Result<()> {
    sqlx::query!(
        "update oncehook.conflicts set promoted_to = $2, promoted_at = oncehook.now() where id = $1",
        conflict,
        receipt.uuid()
    )
    .execute(conn)
    .await?;
    Ok(())
}
