//! Calling deliveries off: one that has not run yet, or a dead letter that nobody wants any more.

use serde_json::json;
use sqlx::PgConnection;

use super::{Changed, Desk, Instruction, OperateError, Result, audit::note};
use crate::{
    domain::{DeliveryRef, DeliveryState},
    store::call_off::{cancel_delivery, delivery_state, discard_delivery},
};

impl Desk {
    /// Calls off a delivery that is waiting, queued or retrying. Its lane goes on with the next.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is running or finished; those of the database.
    pub async fn cancel(&self, delivery: DeliveryRef, instruction: Instruction<'_>) -> Result<Changed> {
        let mut tx = self.pool.begin().await?;
        let Some(from) = cancel_delivery(&mut tx, delivery).await? else {
            return Err(refusal(&mut tx, delivery, "cancelled").await?);
        };
        note(&mut tx, instruction, "cancel", &delivery.to_string(), &json!({ "from": from })).await?;
        tx.commit().await?;
        // Its lane goes on.
        self.bell.ring();
        Ok(changed(delivery, format!("cancelled; it was {from}, and those behind it go on")))
    }

    /// Takes a delivery off the dead letters: it becomes cancelled, with the reason, and unblocks its lane if it held it.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is not dead; those of the database.
    pub async fn discard(&self, delivery: DeliveryRef, instruction: Instruction<'_>) -> Result<Changed> {
        let mut tx = self.pool.begin().await?;
        let Some(has_unblocked) = discard_delivery(&mut tx, delivery).await? else {
            return Err(refusal(&mut tx, delivery, "discarded").await?);
        };
        let details = json!({ "from": DeliveryState::Dead, "unblocked": has_unblocked });
        note(&mut tx, instruction, "discard", &delivery.to_string(), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        let lane = if has_unblocked { "; its lane had waited for it, and goes on" } else { "" };
        Ok(changed(delivery, format!("discarded: it is no dead letter any more{lane}")))
    }
}

fn changed(delivery: DeliveryRef, done: String) -> Changed {
    Changed { what: delivery.to_string(), state: Some(DeliveryState::Cancelled), done }
}

/// Why a delivery could not be dealt with: there is none, or it stands elsewhere.
pub(super) async fn refusal(conn: &mut PgConnection, delivery: DeliveryRef, done: &str) -> Result<OperateError> {
    let Some(state) = delivery_state(conn, delivery).await? else {
        return Ok(OperateError::NotFound { what: "delivery", name: delivery.to_string() });
    };
    let instead = match (done, state) {
        (_, DeliveryState::Running) => "an attempt is under way; look again when that has ended".to_owned(),
        ("cancelled", DeliveryState::Dead) => "discard it, to take it off the dead letters".to_owned(),
        ("cancelled", _) if state.is_finished() => "it is finished, and nothing more happens to it".to_owned(),
        ("discarded", DeliveryState::Waiting | DeliveryState::Queued | DeliveryState::Retrying) => {
            "cancel it, to call it off".to_owned()
        }
        ("discarded", _) => "it is no dead letter: there is nothing to discard".to_owned(),
        ("retried", DeliveryState::Succeeded | DeliveryState::Skipped) => {
            "replay it, to run it again all the same".to_owned()
        }
        ("retried", _) if !state.is_finished() => "it runs by itself when its turn comes".to_owned(),
        // It has moved between the try and this look.
        _ => "it was moving this moment: ask again".to_owned(),
    };
    Ok(OperateError::Refused { problem: format!("{delivery} is {state} and cannot be {done}"), instead })
}
