//! Calling deliveries off: one that has not run yet, or a dead letter that nobody wants any more.

use super::{Changed, Desk, Instruction, OperateError, Result};
use crate::domain::DeliveryRef;

impl Desk {
    /// Calls off a delivery that is waiting, queued or retrying. Its lane goes on with the next.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is running or finished; those of the database.
    pub async fn cancel(&self, _delivery: DeliveryRef, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }

    /// Takes a delivery off the dead letters: it becomes cancelled, with the reason, and unblocks its lane if it held it.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it is not dead; those of the database.
    pub async fn discard(&self, _delivery: DeliveryRef, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }
}
