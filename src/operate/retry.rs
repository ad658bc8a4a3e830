//! Asking for a dead or cancelled delivery once more.

use serde_json::json;
use sqlx::PgConnection;

use super::{Desk, Instruction, Result, audit::note, cancel::refusal};
use crate::{
    domain::{DeliveryRef, DeliveryState, LaneKey, Trigger},
    run::Doorbell,
    store::{self, call_off::delivery_state, revive},
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
    /// [`OperateError::NotFound`](super::OperateError::NotFound); [`OperateError::Refused`](super::OperateError::Refused) in another state; those of the database.
    pub async fn retry(&self, delivery: DeliveryRef, instruction: Instruction<'_>) -> Result<Changed> {
        let mut tx = self.pool.begin().await?;
        let from = delivery_state(&mut tx, delivery).await?;
        let Some(state) = revive::revive_delivery(&mut tx, delivery, Trigger::Manual, &RETRIED_FROM).await? else {
            return Err(refusal(&mut tx, delivery, "retried").await?);
        };
        let details = json!({ "from": from, "to": state });
        note(&mut tx, instruction, "retry", &delivery.to_string(), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        let next =
            if state == DeliveryState::Queued { "it runs next" } else { "it runs behind what waits in its lane" };
        let done = format!("asked for again: it is {state}, and {next}");
        Ok(Changed { what: delivery.to_string(), state: Some(state), done })
    }
}

/// The same without a desk, and without a row in the audit log: for tests and the command line until that has one.
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

/// As [`Desk::unblock_lane`], but without a desk and a row in the audit log. False when it is not blocked.
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
