//! Letting a held suspected replay go on its way after all.

use super::{Desk, Instruction, OperateError, Replayed, Result};
use crate::domain::ReceiptId;

impl Desk {
    /// Plans the deliveries of a receipt that `replay_guard = "hold"` held, as the routes are today.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is not held, or its payload is gone; those of the database.
    pub async fn release(&self, _receipt: ReceiptId, _instruction: Instruction<'_>) -> Result<Replayed> {
        Err(OperateError::NotYet)
    }
}
