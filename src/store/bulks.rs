//! `oncehook.bulks`: what is to be done to many deliveries, and how far it is.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, delivery_search::Place};
use crate::domain::DeliveryRef;

/// What a bulk begins with.
#[derive(Debug, Clone)]
pub struct NewBulk<'a> {
    /// Its id.
    pub id: Uuid,
    /// What is done.
    pub action: &'a str,
    /// To which, as it was asked for.
    pub filter: serde_json::Value,
    /// Only to these of them; empty: to all.
    pub only: Vec<Uuid>,
    /// How many there were.
    pub total: i64,
    /// Who asked.
    pub operator: &'a str,
    /// What they may do.
    pub role: &'a str,
    /// From where.
    pub via: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
}

/// A bulk, as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkRow {
    /// Its id.
    pub id: Uuid,
    /// What is done.
    pub action: String,
    /// To which.
    pub filter: serde_json::Value,
    /// Only to these of them; empty: to all.
    pub only_these: Vec<Uuid>,
    /// running, done, stopped.
    pub state: String,
    /// How many there were.
    pub total: i64,
    /// Met so far.
    pub met: i64,
    /// Changed so far.
    pub changed: i64,
    /// Who asked.
    pub operator: String,
    /// What they may do.
    pub role: String,
    /// From where.
    pub via: String,
    /// Why.
    pub reason: Option<String>,
    /// The receipt of the last delivery that was met.
    pub after_receipt: Option<Uuid>,
    /// The last delivery that was met.
    pub after_delivery: Option<Uuid>,
    /// When it began.
    pub began_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Writes a bulk down. Locks nothing that exists.
///
/// # Errors
/// Those of the database.
pub async fn insert_bulk(conn: &mut PgConnection, new: &NewBulk<'_>) -> Result<()> {
    sqlx::query!(
        "insert into oncehook.bulks (id, action, filter, only_these, total, operator, role, via, reason)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        new.id,
        new.action,
        new.filter,
        &new.only,
        new.total,
        new.operator,
        new.role,
        new.via,
        new.reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One bulk; `None` when there is none. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn find_bulk(conn: &mut PgConnection, id: Uuid) -> Result<Option<BulkRow>> {
    Ok(sqlx::query_as!(
        BulkRow,
        "select id, action, filter, only_these, state, total, met, changed, operator, role, via, reason, after_receipt,
                after_delivery, began_at, ended_at
         from oncehook.bulks where id = $1",
        id
    )
    .fetch_optional(conn)
    .await?)
}

/// Bulks behind `before`, newest first: their ids begin with the time. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn page_of_bulks(conn: &mut PgConnection, before: Option<Uuid>, limit: i64) -> Result<Vec<BulkRow>> {
    Ok(sqlx::query_as!(
        BulkRow,
        "select id, action, filter, only_these, state, total, met, changed, operator, role, via, reason, after_receipt,
                after_delivery, began_at, ended_at
         from oncehook.bulks where ($1::uuid is null or id < $1) order by id desc limit $2",
        before,
        limit
    )
    .fetch_all(conn)
    .await?)
}

/// Takes the oldest bulk at work that no other process holds, for the rest of the transaction. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn take_bulk(conn: &mut PgConnection) -> Result<Option<BulkRow>> {
    Ok(sqlx::query_as!(
        BulkRow,
        "select id, action, filter, only_these, state, total, met, changed, operator, role, via, reason, after_receipt,
                after_delivery, began_at, ended_at
         from oncehook.bulks where state = 'running' order by began_at limit 1 for update skip locked"
    )
    .fetch_optional(conn)
    .await?)
}

/// Notes how far a bulk has come, and whether that was the end. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn note_progress(
    conn: &mut PgConnection,
    id: Uuid,
    met: i64,
    changed: i64,
    next: Option<Place>,
) -> Result<()> {
    sqlx::query!(
        "update oncehook.bulks set met = met + $2, changed = changed + $3, after_receipt = coalesce($4, after_receipt),
             after_delivery = coalesce($5, after_delivery), state = case when $6 then 'done' else state end,
             ended_at = case when $6 then oncehook.now() end
         where id = $1 and state = 'running'",
        id,
        met,
        changed,
        next.map(|place| place.0),
        next.map(|place| place.1),
        next.is_none(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Stops a bulk, waiting for a step that is under way. False when it has ended. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn stop_bulk(conn: &mut PgConnection, id: Uuid) -> Result<bool> {
    let done = sqlx::query!(
        "update oncehook.bulks set state = 'stopped', ended_at = oncehook.now() where id = $1 and state = 'running'",
        id
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deliveries in the order in which their lanes are locked. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn in_lock_order(conn: &mut PgConnection, ids: &[Uuid]) -> Result<Vec<DeliveryRef>> {
    let ids = sqlx::query_scalar!(
        "select id from oncehook.deliveries where id = any($1) order by route, ordering_key, id",
        ids
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(DeliveryRef::from).collect())
}
