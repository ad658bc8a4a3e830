//! Asking for a dead or cancelled delivery once more.

use sqlx::PgConnection;

use super::{Desk, Instruction, OperateError, Result};
use crate::{
    domain::{DeliveryRef, DeliveryState, LaneKey, Trigger},
    run::Doorbell,
    store::{self, revive},
};

/// The states from which an operator may ask for a delivery again.
pub const RETRIED_FROM: [DeliveryState; 2] = [DeliveryState::Dead, DeliveryState::Cancelled];

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Changed {
    /// What was changed: `dlv_…`, a lane, a route, a destination.
    pub what: String,
    /// Where a delivery stands now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<DeliveryState>,
    /// What was done, in a sentence, and what happens next.
    pub done: String,
}

impl Desk {
    /// Asks for a delivery that is dead or cancelled once more. It goes to the tail of its lane, or to the head if it blocks
    /// the lane.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] in another state; those of the database.
    pub async fn retry(&self, _delivery: DeliveryRef, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }
}

/// Asks for a delivery that is dead or cancelled once more.
///
/// # Errors
/// Those of the database.
pub async fn retry_delivery(
    conn: &mut PgConnection,
    bell: &Doorbell,
    delivery: DeliveryRef,
) -> store::Result<Option<DeliveryState>> {
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
pub async fn unblock_lane(conn: &mut PgConnection, bell: &Doorbell, lane: &LaneKey) -> store::Result<bool> {
    let is_done = revive::unblock_lane(conn, lane).await?;
    if is_done {
        bell.ring();
    }
    Ok(is_done)
}
