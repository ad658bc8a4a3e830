//! The audit log: who changed what, when and why. Written in the transaction of the change; never changed.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Page, Result, Via};

/// Which entries. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// By this operator.
    pub operator: Option<String>,
    /// Of this kind: retry, replay, cancel, …
    pub action: Option<String>,
    /// About this: `dlv_…`, `rcp_…`, the name of a route.
    pub subject: Option<String>,
    /// At or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Before this time.
    pub until: Option<DateTime<Utc>>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct AuditLine {
    /// Its number.
    pub entry: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub operator: String,
    /// From where.
    pub via: Via,
    /// What: retry, cancel, discard, replay, release, promote, unblock, pause, resume, bulk_…, login, logout.
    pub action: String,
    /// To what: `dlv_…`, `rcp_…`, a lane, a name.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// What came of it.
    #[schema(value_type = Object)]
    pub details: serde_json::Value,
}

impl Desk {
    /// The audit log, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn audit(&self, _query: &AuditQuery) -> Result<Page<AuditLine>> {
        Err(OperateError::NotYet)
    }
}
