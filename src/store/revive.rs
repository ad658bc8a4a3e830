//! Asking for finished deliveries once more, and letting a blocked lane go on. Calls the functions of
//! `migrations/0004_order_and_exactly_once.sql`; whoever commits rings the doorbell afterwards.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Result, read};
use crate::domain::{DeliveryRef, DeliveryState, JobId, LaneKey, ReceiptId, Trigger};

/// A dead delivery, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadDelivery {
    /// Its receipt.
    pub receipt: ReceiptId,
    /// The delivery.
    pub delivery: DeliveryRef,
    /// Attempts that it had died after: if it dies again, they are more.
    pub attempts: i32,
}

/// The dead deliveries of `receipts`, compensations aside, in the order in which their lanes are locked: the one that
/// recording has too, so that nothing deadlocks. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn dead_deliveries(conn: &mut PgConnection, receipts: &[ReceiptId]) -> Result<Vec<DeadDelivery>> {
    let ids: Vec<Uuid> = receipts.iter().map(|receipt| receipt.uuid()).collect();
    let rows = sqlx::query!(
        "select receipt_id, id, attempts from oncehook.deliveries
         where receipt_id = any($1) and state = 'dead' and purpose = 'deliver'
         order by route, ordering_key, id",
        &ids
    )
    .fetch_all(conn)
    .await?;
    let dead = rows.into_iter().map(|row| DeadDelivery {
        receipt: row.receipt_id.into(),
        delivery: row.id.into(),
        attempts: row.attempts,
    });
    Ok(dead.collect())
}

/// Asks for a finished delivery once more.
///
/// It goes to the tail of its lane (by event time: to its place among those that
/// wait), or back to the head if it blocks the lane. Gives its new state; `None`, and nothing changed, when its state is
/// none of `from`.
///
/// Locks the lane's row, then the delivery's. For several in one transaction keep the order of [`dead_deliveries`].
///
/// # Errors
/// Those of the database.
pub async fn revive_delivery(
    conn: &mut PgConnection,
    delivery: DeliveryRef,
    trigger: Trigger,
    from: &[DeliveryState],
) -> Result<Option<DeliveryState>> {
    let state = sqlx::query_scalar!(
        "select oncehook.revive_delivery($1, $2, $3, $4, $5)",
        delivery.uuid(),
        delivery.to_string(),
        JobId::new().to_string(),
        trigger.as_str(),
        &from.iter().map(|state| state.as_str()).collect::<Vec<_>>() as &[&str],
    )
    .fetch_one(conn)
    .await?;
    state.map(|state| read(&state)).transpose()
}

/// Lets a blocked lane go on behind its dead delivery, which stays dead. False when it is not blocked.
///
/// Locks the lane's row, then its old job's.
///
/// # Errors
/// Those of the database.
pub async fn unblock_lane(conn: &mut PgConnection, lane: &LaneKey) -> Result<bool> {
    let done = sqlx::query_scalar!(
        r#"select oncehook.unblock_lane($1, $2, $3) as "is_done!""#,
        lane.route.as_str(),
        lane.ordering_key.as_str(),
        JobId::new().to_string(),
    )
    .fetch_one(conn)
    .await?;
    Ok(done)
}
