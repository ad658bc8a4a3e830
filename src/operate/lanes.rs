//! Lanes: which there are, what holds them up, and letting a blocked one go on.

use super::{Changed, Desk, Instruction, OperateError, Page, Result};
use crate::{domain::LaneKey, store::lane_list::LaneLine};

/// Which lanes. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct LaneQuery {
    /// Of this route.
    pub route: Option<String>,
    /// Of this key.
    pub ordering_key: Option<String>,
    /// Only those that a dead delivery blocks.
    pub blocked: Option<bool>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

impl Desk {
    /// Lanes, those that have been open the longest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn lanes(&self, _query: &LaneQuery) -> Result<Page<LaneLine>> {
        Err(OperateError::NotYet)
    }

    /// Lets a blocked lane go on behind its dead delivery, which stays dead.
    ///
    /// # Errors
    /// [`OperateError::Refused`] when it is not blocked; those of the database.
    pub async fn unblock_lane(&self, _lane: &LaneKey, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }
}
