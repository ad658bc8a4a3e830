//! Calling deliveries off. Calls the functions of `migrations/0006_operators.sql`; whoever commits rings the doorbell
//! afterwards.

use sqlx::PgConnection;

use super::{Result, read};
use crate::domain::{DeliveryRef, DeliveryState, JobId};

/// Where a delivery stands; `None` when there is none. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn delivery_state(conn: &mut PgConnection, delivery: DeliveryRef) -> Result<Option<DeliveryState>> {
    let state = sqlx::query_scalar!("select state from oncehook.deliveries where id = $1", delivery.uuid())
        .fetch_optional(conn)
        .await?;
    state.map(|state| read(&state)).transpose()
}

/// Calls off a delivery that is waiting, queued or retrying, and gives the state that it had.
///
/// `None`, and nothing changed, when it is running, finished or not there. Its lane goes on at once, or retires.
/// Locks the lane's row, then the delivery's (waiting for a worker that claims it), then the job's.
///
/// # Errors
/// Those of the database.
pub async fn cancel_delivery(conn: &mut PgConnection, delivery: DeliveryRef) -> Result<Option<DeliveryState>> {
    let state = sqlx::query_scalar!("select oncehook.cancel_delivery($1)", delivery.uuid()).fetch_one(conn).await?;
    state.map(|state| read(&state)).transpose()
}

/// Takes a delivery off the dead letters, and tells whether its lane had waited for it, which then goes on.
///
/// `None`, and nothing changed, when it is not dead. Locks the lane's row, then the delivery's, then the lane's old job's.
///
/// # Errors
/// Those of the database.
pub async fn discard_delivery(conn: &mut PgConnection, delivery: DeliveryRef) -> Result<Option<bool>> {
    let has_unblocked =
        sqlx::query_scalar!("select oncehook.discard_delivery($1, $2)", delivery.uuid(), JobId::new().to_string())
            .fetch_one(conn)
            .await?;
    Ok(has_unblocked)
}
