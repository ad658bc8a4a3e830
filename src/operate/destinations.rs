//! Destinations and routes: how they are set up, and how they do.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Paused, Result};

/// Whether attempts reach a destination. (The breaker that holds attempts back comes with issue 6: until then it is only what
/// the last attempts say.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Breaker {
    /// The last attempt succeeded, or there was none.
    Closed,
    /// The last attempts, 5 or more of them, failed one after the other.
    Open,
}

/// One destination.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct DestinationLine {
    /// Its name.
    pub destination: String,
    /// http, sql, command, handler, log, …
    pub kind: String,
    /// Where that is, without secrets: a URL without user and query, a function's name, a program.
    pub place: String,
    /// Routes that lead there.
    pub routes: Vec<String>,
    /// Its pause.
    pub paused: Option<Paused>,
    /// Whether attempts reach it.
    pub breaker: Breaker,
    /// When an attempt last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When an attempt last did not.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that ended.
    pub last_failure: Option<String>,
    /// Unfinished deliveries, counted up to 10,000.
    pub unfinished: i64,
    /// Dead letters, counted up to 10,000.
    pub dead: i64,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct RouteLine {
    /// Its name.
    pub route: String,
    /// Whose events.
    pub source: String,
    /// Which event types.
    pub events: Vec<String>,
    /// Which of those.
    pub filter: Option<String>,
    /// arrival, event, none.
    pub order: String,
    /// Where its ordering keys come from.
    pub ordering_key: String,
    /// Where its deliveries go.
    pub destination: String,
    /// continue, block.
    pub on_dead: String,
    /// Its pause.
    pub paused: Option<Paused>,
    /// Unfinished deliveries, counted up to 10,000.
    pub unfinished: i64,
    /// Dead letters, counted up to 10,000.
    pub dead: i64,
}

impl Desk {
    /// All destinations of the configuration, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn destinations(&self) -> Result<Vec<DestinationLine>> {
        Err(OperateError::NotYet)
    }

    /// All routes of the configuration, as written.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn routes(&self) -> Result<Vec<RouteLine>> {
        Err(OperateError::NotYet)
    }
}
