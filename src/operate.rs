//! What an operator does by hand, the same from every side: command line, API and dashboard call these. Each is one
//! transaction of its own, and rings the doorbell once it is committed.

use sqlx::PgConnection;

use crate::{
    domain::{DeliveryRef, DeliveryState, LaneKey, Trigger},
    run::Doorbell,
    store::{Result, revive},
};

/// The states from which an operator may ask for a delivery again.
pub const RETRIED_FROM: [DeliveryState; 2] = [DeliveryState::Dead, DeliveryState::Cancelled];

/// Asks for a delivery that is dead or cancelled once more.
///
/// It never bypasses the order: it goes to the tail of its lane, or to the head if it blocks the lane. Gives its new state; `None` when it is in another state than those.
///
/// # Errors
/// Those of the database.
pub async fn retry_delivery(
    conn: &mut PgConnection,
    bell: &Doorbell,
    delivery: DeliveryRef,
) -> Result<Option<DeliveryState>> {
    let state = revive::revive_delivery(conn, delivery, Trigger::Manual, &RETRIED_FROM).await?;
    if state.is_some() {
        bell.ring();
    }
    Ok(state)
}

/// Lets a blocked lane go on behind its dead delivery, which stays dead. False when it is not blocked.
///
/// # Errors
/// Those of the database.
pub async fn unblock_lane(conn: &mut PgConnection, bell: &Doorbell, lane: &LaneKey) -> Result<bool> {
    let is_done = revive::unblock_lane(conn, lane).await?;
    if is_done {
        bell.ring();
    }
    Ok(is_done)
}
