//! Doing the same to many deliveries, by filter: counted first, then worked off in small transactions by whichever process
//! has a hand free. A crash loses nothing and does nothing twice: a bulk knows how far it has come.

use chrono::{DateTime, Utc};

use super::{DeliveryQuery, Desk, Instruction, OperateError, Page, PageRequest, Result};

/// What is done to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BulkAction {
    /// As [`Desk::retry`]: dead and cancelled ones.
    Retry,
    /// As a replay of their route: any finished ones.
    Replay,
    /// As [`Desk::discard`]: dead ones.
    Discard,
    /// As [`Desk::cancel`]: waiting, queued and retrying ones.
    Cancel,
}

/// What to do, and to which.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct BulkRequest {
    /// What is done.
    pub action: BulkAction,
    /// To which deliveries. Its page is not looked at.
    pub filter: DeliveryQuery,
    /// Only these of them: picked on a page. `dlv_…`, at most 1,000.
    #[serde(default)]
    pub only: Vec<String>,
    /// How many there were when they were counted. If there are more by now, nothing is done.
    #[serde(default)]
    pub expect: Option<i64>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// How many a bulk would meet.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct BulkCount {
    /// Deliveries that pass the filter and stand where the action can be done.
    pub count: i64,
    /// The youngest of them, up to 5: `dlv_…`.
    pub samples: Vec<String>,
}

/// How far a bulk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BulkState {
    /// At work.
    Running,
    /// All were met.
    Done,
    /// An operator stopped it.
    Stopped,
}

/// A bulk, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct BulkProgress {
    /// Its id: a UUID.
    pub bulk: String,
    /// What is done.
    pub action: BulkAction,
    /// How far it is.
    pub state: BulkState,
    /// Deliveries counted when it began.
    pub total: i64,
    /// Deliveries met so far.
    pub met: i64,
    /// Deliveries changed so far: others had moved on by themselves.
    pub changed: i64,
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// When it began.
    pub began_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

impl Desk {
    /// Counts what a bulk would meet, and changes nothing.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a filter that is none; those of the database.
    pub async fn count_bulk(&self, _request: &BulkRequest) -> Result<BulkCount> {
        Err(OperateError::NotYet)
    }

    /// Begins a bulk. Processes with a desk work it off, see [`Desk::work_bulks`].
    ///
    /// # Errors
    /// [`OperateError::Refused`] when there are more than expected; [`OperateError::Invalid`]; those of the database.
    pub async fn begin_bulk(&self, _request: &BulkRequest, _instruction: Instruction<'_>) -> Result<BulkProgress> {
        Err(OperateError::NotYet)
    }

    /// Stops a bulk where it is. What it has done stays done.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it has ended; those of the database.
    pub async fn stop_bulk(&self, _bulk: &str, _instruction: Instruction<'_>) -> Result<BulkProgress> {
        Err(OperateError::NotYet)
    }

    /// How far a bulk is.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn bulk(&self, _bulk: &str) -> Result<BulkProgress> {
        Err(OperateError::NotYet)
    }

    /// Bulks, newest first.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn bulks(&self, _page: &PageRequest) -> Result<Page<BulkProgress>> {
        Err(OperateError::NotYet)
    }

    /// Works off one step (at most 500 deliveries, one transaction) of the oldest bulk that is at work and that no other
    /// process is working on. False: there was nothing to do.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn work_bulks(&self) -> Result<bool> {
        Err(OperateError::NotYet)
    }
}
