//! Sources: how they are set up, and what came in.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Result};

/// One source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct SourceLine {
    /// Its name.
    pub source: String,
    /// Who sends.
    pub provider: String,
    /// Its path on the intake port.
    pub path: String,
    /// How requests are signed; `None`: they are not.
    pub scheme: Option<String>,
    /// What becomes of suspected replays: off, flag, hold, reject.
    pub replay_guard: String,
    /// Its secrets, newest last, with their last use: one that has not been used since another was is safe to drop.
    pub secrets: Vec<SecretUse>,
    /// Routes that take from it.
    pub routes: Vec<String>,
    /// When its last receipt came in; `None`: none ever did.
    pub last_receipt_at: Option<DateTime<Utc>>,
    /// Requests in the last 24 hours, by what they came to: accepted, duplicate, conflict, unverified, …
    pub last_day: Vec<(String, i64)>,
}

/// One secret of a source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct SecretUse {
    /// Names it without showing it.
    pub fingerprint: String,
    /// Whose it is, for an `api` source.
    pub caller: Option<String>,
    /// Whether the configuration has it now.
    pub is_configured: bool,
    /// When it first verified a request.
    pub first_used_at: Option<DateTime<Utc>>,
    /// When it last did; to about 10 seconds.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Requests that it verified.
    pub uses: i64,
    /// What that means, in a sentence: `in use`, `not used yet`, `not used since …: safe to drop`.
    pub advice: String,
}

impl Desk {
    /// All sources of the configuration, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sources(&self) -> Result<Vec<SourceLine>> {
        Err(OperateError::NotYet)
    }

    /// One source.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn source(&self, _name: &str) -> Result<SourceLine> {
        Err(OperateError::NotYet)
    }
}
