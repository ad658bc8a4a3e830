//! Payloads of many receipts, for a search that looks into them. Read in batches of bounded size.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, receipt_story::Payload};
use crate::domain::Headers;

/// A receipt whose payload may be looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sized {
    /// The receipt.
    pub id: Uuid,
    /// The way in.
    pub source: String,
    /// The size of its body.
    pub body_bytes: i32,
}

/// The sizes of the payloads of `ids`, newest first. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn payload_sizes(conn: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<Sized>> {
    Ok(sqlx::query_as!(
        Sized,
        "select id, source, body_bytes from oncehook.receipts where id = any($1) order by id desc",
        ids
    )
    .fetch_all(conn)
    .await?)
}

/// The payloads of `ids` that are still kept, and may hold `part` somewhere: one that certainly does not is left in the database.
/// `None`: all of them. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn payloads_of(conn: &mut PgConnection, ids: &[Uuid], part: Option<&[u8]>) -> Result<Vec<(Uuid, Payload)>> {
    // JSON may write any letter as \u…, and a form as %…: only plain JSON without the first is told by its bytes.
    let rows = sqlx::query!(
        r"select receipt_id, headers, body from oncehook.payloads
          where receipt_id = any($1)
            and ($2::bytea is null or position($2 in body) > 0 or position('\x5c75'::bytea in body) > 0
                 or substring(body for 1) not in ('\x7b'::bytea, '\x5b'::bytea))",
        ids,
        part,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.receipt_id, Payload { headers: Headers::from_wire(&row.headers), body: row.body }))
        .collect())
}
