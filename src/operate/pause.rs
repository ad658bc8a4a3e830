//! Pausing routes and destinations: nothing begins there, nothing is lost, order is kept.

use chrono::{DateTime, Utc};

use super::{Changed, Desk, Instruction, OperateError, Result};

/// What can be paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pausable {
    /// Its deliveries wait, wherever they go.
    Route,
    /// Deliveries to it wait, of whatever route.
    Destination,
}

impl Pausable {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Destination => "destination",
        }
    }
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Paused {
    /// What is paused.
    pub kind: Pausable,
    /// Its name.
    pub name: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Who paused it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

impl Desk {
    /// Pauses. Attempts under way end as they would.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] when the configuration has no such route or destination; [`OperateError::Refused`] when it
    /// is paused already; those of the database.
    pub async fn pause(&self, _kind: Pausable, _name: &str, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }

    /// Ends a pause: what waited begins at once. Works for names that the configuration has no more.
    ///
    /// # Errors
    /// [`OperateError::Refused`] when it is not paused; those of the database.
    pub async fn resume(&self, _kind: Pausable, _name: &str, _instruction: Instruction<'_>) -> Result<Changed> {
        Err(OperateError::NotYet)
    }

    /// All pauses.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn pauses(&self) -> Result<Vec<Paused>> {
        Err(OperateError::NotYet)
    }
}
