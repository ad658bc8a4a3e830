//! Pausing routes and destinations: nothing begins there, nothing is lost, order is kept.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Changed, Desk, Instruction, OperateError, Result, audit::note};
use crate::store::pauses::{
    PauseRow, begin_pause, bring_lanes_forward, bring_lone_deliveries_forward, end_pause, list_pauses,
};

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

/// Lanes, or deliveries without one, that a resume looks at in one statement.
const LOOKED_AT_MAX: i64 = 1_000;

impl Desk {
    /// Pauses. Attempts under way end as they would.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] when the configuration has no such route or destination; [`OperateError::Refused`] when it
    /// is paused already; those of the database.
    pub async fn pause(&self, kind: Pausable, name: &str, instruction: Instruction<'_>) -> Result<Changed> {
        let config = self.live.load().config.clone();
        let is_there = match kind {
            Pausable::Route => config.routes.iter().any(|route| route.name.as_str() == name),
            Pausable::Destination => config.destinations.keys().any(|known| known.as_str() == name),
        };
        if !is_there {
            return Err(OperateError::NotFound { what: kind.as_str(), name: name.to_owned() });
        }
        let reason = instruction.reason_to_keep()?;
        let mut tx = self.pool.begin().await?;
        if !begin_pause(&mut tx, kind.as_str(), name, &instruction.by.name, reason).await? {
            return Err(OperateError::Refused {
                problem: format!("the {} {name} is paused already", kind.as_str()),
                instead: "resume it, or leave it as it is".to_owned(),
            });
        }
        note(&mut tx, instruction, "pause", name, &json!({ "kind": kind })).await?;
        tx.commit().await?;
        let done = "paused: attempts under way end as they would, nothing new begins, and nothing is lost".to_owned();
        Ok(Changed { what: name.to_owned(), state: None, done })
    }

    /// Ends a pause: what waited begins at once. Works for names that the configuration has no more.
    ///
    /// # Errors
    /// [`OperateError::Refused`] when it is not paused; those of the database.
    pub async fn resume(&self, kind: Pausable, name: &str, instruction: Instruction<'_>) -> Result<Changed> {
        let mut tx = self.pool.begin().await?;
        let Some(since) = end_pause(&mut tx, kind.as_str(), name).await? else {
            return Err(OperateError::Refused {
                problem: format!("the {} {name} is not paused", kind.as_str()),
                instead: "the list of pauses has what can be resumed".to_owned(),
            });
        };
        note(&mut tx, instruction, "resume", name, &json!({ "kind": kind, "since": since })).await?;
        tx.commit().await?;
        let when = match self.bring_forward(kind, name).await {
            Ok(()) => "at once",
            // It is resumed, whatever becomes of this: who waits looks by itself.
            Err(error) => {
                tracing::warn!(kind = kind.as_str(), name, %error, "what waited for a pause was not brought forward");
                "within 5 minutes"
            }
        };
        self.bell.ring();
        Ok(Changed { what: name.to_owned(), state: None, done: format!("resumed: what waited begins {when}") })
    }

    /// All pauses.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn pauses(&self) -> Result<Vec<Paused>> {
        let rows = list_pauses(&mut *self.pool.acquire().await?).await?;
        Ok(rows.into_iter().map(Paused::of).collect())
    }

    /// Wakes what is parked on account of a pause, a bounded number in each statement.
    async fn bring_forward(&self, kind: Pausable, name: &str) -> Result<()> {
        let mut conn = self.pool.acquire().await?;
        let mut lane = None;
        loop {
            lane = bring_lanes_forward(&mut conn, kind.as_str(), name, lane, LOOKED_AT_MAX).await?;
            if lane.is_none() {
                break;
            }
        }
        let mut delivery = None;
        loop {
            delivery = bring_lone_deliveries_forward(&mut conn, kind.as_str(), name, delivery, LOOKED_AT_MAX).await?;
            if delivery.is_none() {
                return Ok(());
            }
        }
    }
}

impl Paused {
    fn of(row: PauseRow) -> Self {
        // Invariant: a CHECK holds the two words.
        let kind = if row.kind == Pausable::Route.as_str() { Pausable::Route } else { Pausable::Destination };
        Self { kind, name: row.name, since: row.since, by: row.by, reason: row.reason }
    }
}
