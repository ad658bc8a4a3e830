//! Making a receipt of a conflict.

use super::{Desk, Instruction, OperateError, Replayed, Result};

impl Desk {
    /// Makes a receipt of its own of a conflict's payload, flagged as promoted, with the deliveries that the routes of today
    /// ask for. The first receipt stays as it is.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it was promoted already; those of the database.
    pub async fn promote(&self, _conflict: i64, _instruction: Instruction<'_>) -> Result<Replayed> {
        Err(OperateError::NotYet)
    }
}
