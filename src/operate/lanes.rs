//! Lanes: which there are, what holds them up, and letting a blocked one go on.

use serde_json::json;

use super::{Changed, Desk, Instruction, OperateError, Page, Result, audit::note};
use crate::{
    domain::LaneKey,
    store::{lane_list::LaneLine, revive},
};

/// Which lanes. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
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
    pub async fn unblock_lane(&self, lane: &LaneKey, instruction: Instruction<'_>) -> Result<Changed> {
        let mut tx = self.pool.begin().await?;
        if !revive::unblock_lane(&mut tx, lane).await? {
            return Err(OperateError::Refused {
                problem: format!("the lane {lane} is not blocked, or not there at all"),
                instead: "the list of blocked lanes has those that can be unblocked".to_owned(),
            });
        }
        let details = json!({ "route": lane.route.as_str(), "ordering_key": lane.ordering_key });
        note(&mut tx, instruction, "unblock", &lane.to_string(), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        let done = "unblocked: it goes on behind its dead delivery, which stays dead".to_owned();
        Ok(Changed { what: lane.to_string(), state: None, done })
    }
}
