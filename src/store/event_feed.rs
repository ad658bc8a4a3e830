//! What has just happened, for those who watch: walks primary keys from a place on, in bounded steps. Takes no locks and never
//! changes anything.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, read};
use crate::domain::{DeliveryRef, DeliveryState, ReceiptId};

/// A receipt that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshReceipt {
    /// Its id.
    pub id: ReceiptId,
    /// The way in.
    pub source: String,
    /// What kind of event.
    pub event_type: String,
    /// The provider's own id.
    pub delivery_id: String,
}

/// A delivery that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedDelivery {
    /// Its id.
    pub id: DeliveryRef,
    /// What it delivers.
    pub receipt: ReceiptId,
    /// The way in of its receipt.
    pub source: String,
    /// What kind of event.
    pub event_type: String,
    /// The rule that asked for it.
    pub route: String,
    /// Where it ends.
    pub destination: String,
    /// Where it stands.
    pub state: DeliveryState,
    /// Attempts ever opened.
    pub attempts: i32,
}

/// The newest receipt's id, as its bits.
///
/// # Errors
/// When the database cannot be asked.
pub async fn newest_receipt(conn: &mut PgConnection) -> Result<Option<Uuid>> {
    Ok(sqlx::query_scalar!("select id from oncehook.receipts order by id desc limit 1").fetch_optional(conn).await?)
}

/// The newest attempt's id, as its bits.
///
/// # Errors
/// When the database cannot be asked.
pub async fn newest_attempt(conn: &mut PgConnection) -> Result<Option<Uuid>> {
    Ok(sqlx::query_scalar!("select id from oncehook.attempts order by id desc limit 1").fetch_optional(conn).await?)
}

/// Receipts behind an id, in the order of their ids.
///
/// # Errors
/// When the database cannot be asked.
pub async fn receipts_after(conn: &mut PgConnection, after: Uuid, limit: i64) -> Result<Vec<FreshReceipt>> {
    let rows = sqlx::query!(
        "select id, source, event_type, delivery_id from oncehook.receipts where id > $1 order by id limit $2",
        after,
        limit
    )
    .fetch_all(conn)
    .await?;
    let receipts = rows.into_iter().map(|row| FreshReceipt {
        id: row.id.into(),
        source: row.source,
        event_type: row.event_type,
        delivery_id: row.delivery_id,
    });
    Ok(receipts.collect())
}

/// Attempts behind an id, in the order of their ids, each with its delivery.
///
/// # Errors
/// When the database cannot be asked.
pub async fn attempts_after(conn: &mut PgConnection, after: Uuid, limit: i64) -> Result<Vec<(Uuid, Uuid)>> {
    let rows =
        sqlx::query!("select id, delivery from oncehook.attempts where id > $1 order by id limit $2", after, limit)
            .fetch_all(conn)
            .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.delivery)).collect())
}

/// Where these deliveries stand.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn deliveries_now(conn: &mut PgConnection, deliveries: &[Uuid]) -> Result<Vec<TriedDelivery>> {
    let rows = sqlx::query!(
        "select d.id, d.receipt_id, r.source, r.event_type, d.route, d.destination, d.state, d.attempts
         from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id where d.id = any($1) order by d.id",
        deliveries
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(TriedDelivery {
                id: row.id.into(),
                receipt: row.receipt_id.into(),
                source: row.source,
                event_type: row.event_type,
                route: row.route,
                destination: row.destination,
                state: read(&row.state)?,
                attempts: row.attempts,
            })
        })
        .collect()
}
