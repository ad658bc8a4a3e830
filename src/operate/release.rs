//! Letting a held suspected replay go on its way after all.

use serde_json::json;

use super::{
    Desk, Instruction, OperateError, Replayed, Result,
    audit::note,
    planning::{StoredEvent, details_of, plan_again, run_again},
    replay::not_found,
};
use crate::{
    domain::ReceiptId,
    store::replays::{add_flags, end_hold, lock_receipt, read_stored_receipt},
};

impl Desk {
    /// Plans the deliveries of a receipt that `replay_guard = "hold"` held, as the routes are today.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is not held, or its payload is gone; those of the database.
    pub async fn release(&self, receipt: ReceiptId, instruction: Instruction<'_>) -> Result<Replayed> {
        let blueprint = self.live.load_full();
        let stored = read_stored_receipt(&mut *self.pool.acquire().await?, receipt).await?;
        let stored = stored.ok_or_else(|| not_found(receipt))?;
        if !stored.is_held {
            return Err(not_held(receipt));
        }
        let planned = plan_again(blueprint, StoredEvent::of(receipt, stored)?, None).await?;
        let plan = planned.map(|(_, plan)| plan).unwrap_or_default();

        let mut tx = self.pool.begin().await?;
        if !lock_receipt(&mut tx, receipt).await?.ok_or_else(|| not_found(receipt))? {
            return Err(not_held(receipt));
        }
        end_hold(&mut tx, receipt).await?;
        add_flags(&mut tx, receipt, &plan.flags()).await?;
        let released = run_again(&mut tx, receipt, None, &plan).await?;
        let details = json!({ "deliveries": details_of(&released) });
        note(&mut tx, instruction, "release", &receipt.to_string(), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(released)
    }
}

fn not_held(receipt: ReceiptId) -> OperateError {
    OperateError::Refused {
        problem: format!("{receipt} is not held"),
        instead: "replay it, to run it again".to_owned(),
    }
}
