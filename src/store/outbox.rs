//! The outbox: what SQL functions and handlers have written to be published, taken row by row in the order of ids.
//!
//! Ids are no order of commits. But a transaction that begins after another has committed has the higher ids, and who sees
//! its rows sees the other's too: whoever takes the lowest ids first never turns around what happened one after another.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// One row, as its writer left it.
#[derive(Debug, Clone)]
pub struct OutboxRow {
    /// What it is known by.
    pub id: i64,
    /// Any text.
    pub event_type: String,
    /// Any text.
    pub ordering_key: Option<String>,
    /// The JSON as PostgreSQL writes it.
    pub payload: Bytes,
    /// When the transaction that wrote it began.
    pub created_at: DateTime<Utc>,
}

/// Whether there is anything to publish. Locks nothing.
///
/// # Errors
/// Those of the database.
pub async fn has_rows(conn: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select from oncehook.outbox) as "has_rows!""#).fetch_one(conn).await?)
}

/// Takes the turn of the dispatcher until the transaction ends; false when another node has it.
///
/// From then on the transaction finds rows by index, as recording does (see [`for_recording`](super::connect::for_recording)).
///
/// # Errors
/// Those of the database.
pub async fn try_take_turn(conn: &mut PgConnection) -> Result<bool> {
    // One more than the reconciler's key.
    let key = 0x6f6e_6365_686f_6f6c_i64;
    let is_mine =
        sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock($1) as "is_mine!""#, key).fetch_one(&mut *conn).await?;
    sqlx::query!("set local enable_seqscan = off").execute(conn).await?;
    Ok(is_mine)
}

/// Removes the first rows, at most `rows_max` with payloads of `bytes_max`, and gives them in the order of ids. A single
/// larger one goes alone.
///
/// Locks the rows. They come back if the transaction does not commit.
///
/// # Errors
/// Those of the database.
pub async fn take_rows(conn: &mut PgConnection, rows_max: i64, bytes_max: i64) -> Result<Vec<OutboxRow>> {
    let rows = sqlx::query!(
        r#"with first as (
               select id, payload from oncehook.outbox order by id limit $1
           ),
           measured as (
               select id, row_number() over by_id as place, sum(octet_length(payload::text)) over by_id as bytes
               from first window by_id as (order by id)
           ),
           taken as (
               delete from oncehook.outbox o using measured m
               where o.id = m.id and (m.place = 1 or m.bytes <= $2)
               returning o.id, o.event_type, o.ordering_key, o.payload::text as payload, o.created_at
           )
           select id as "id!", event_type as "event_type!", ordering_key, payload as "payload!",
                  created_at as "created_at!"
           from taken order by id"#,
        rows_max,
        bytes_max,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| OutboxRow {
            id: row.id,
            event_type: row.event_type,
            ordering_key: row.ordering_key,
            payload: row.payload.into(),
            created_at: row.created_at,
        })
        .collect())
}
