//! Running a receipt again: all of it, one route, or one that matched nothing when it came in.

use super::{Desk, Instruction, OperateError, Result};
use crate::domain::{DeliveryRef, DeliveryState, ReceiptId, RouteName};

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Replayed {
    /// The receipt.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// Its deliveries, of the routes that were meant.
    pub deliveries: Vec<ReplayedDelivery>,
}

/// What became of one delivery.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ReplayedDelivery {
    /// The delivery.
    #[schema(value_type = String)]
    pub delivery: DeliveryRef,
    /// Its route.
    pub route: String,
    /// Where it stands now.
    pub state: DeliveryState,
    /// `revived` (it was finished), `planned` (there was none), `left` (it is under way already).
    pub done: String,
}

impl Desk {
    /// Runs a receipt again: finished deliveries at the tail of their lanes, and a new delivery for a route that has none and
    /// matches today (or is named: then whether it matches or not). Never bypasses the order.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] for the receipt or the route; [`OperateError::Refused`] when it is held, when its payload is
    /// gone, or when there is nothing to run; those of the database.
    pub async fn replay(
        &self,
        _receipt: ReceiptId,
        _route: Option<&RouteName>,
        _instruction: Instruction<'_>,
    ) -> Result<Replayed> {
        Err(OperateError::NotYet)
    }
}
