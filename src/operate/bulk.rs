//! Doing the same to many deliveries, by filter: counted first, then worked off in small transactions by whichever process
//! has a hand free. A crash loses nothing and does nothing twice: a bulk knows how far it has come.

use chrono::{DateTime, Utc};

use serde_json::json;
use uuid::Uuid;

use super::{
    DeliveryQuery, Desk, Instruction, OperateError, Page, PageRequest, RETRIED_FROM, Result,
    audit::note,
    bulk_scope::{criteria_of_bulk, picked},
    page::{key_of, limit_of},
};
use crate::{
    domain::{DeliveryRef, DeliveryState},
    store::{
        StoreError,
        bulks::{BulkRow, NewBulk, find_bulk, insert_bulk, page_of_bulks, stop_bulk},
        delivery_search::{count_deliveries, search_deliveries},
        receipt_story::begin_reading,
        walk::Direction,
    },
};

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

const LIST: &str = "bulks 1";

/// Deliveries are counted up to here, and a bulk meets no more: it can be begun again for the rest.
const COUNTED_MAX: i64 = 1_000_000;

/// What a count shows as examples.
const SAMPLES: i64 = 5;

impl Desk {
    /// Counts what a bulk would meet, up to a million, and changes nothing.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a filter that is none; those of the database.
    pub async fn count_bulk(&self, request: &BulkRequest) -> Result<BulkCount> {
        let only = picked(request)?;
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let criteria = criteria_of_bulk(&mut tx, request.action, &request.filter, &only).await?;
        let count = count_deliveries(&mut tx, &criteria, COUNTED_MAX).await?;
        let youngest = search_deliveries(&mut tx, &criteria, Direction::NewestFirst, None, SAMPLES).await?;
        tx.commit().await?;
        let samples = youngest.found.iter().map(|place| DeliveryRef::from(place.1).to_string()).collect();
        Ok(BulkCount { count, samples })
    }

    /// Begins a bulk. Processes with a desk work it off, see [`Desk::work_bulks`].
    ///
    /// # Errors
    /// [`OperateError::Refused`] when there are more than expected, or none; [`OperateError::Invalid`]; those of the database.
    pub async fn begin_bulk(&self, request: &BulkRequest, instruction: Instruction<'_>) -> Result<BulkProgress> {
        let only = picked(request)?;
        let reason = request.reason.as_deref().or(instruction.reason);
        let instruction = Instruction { reason, ..instruction };
        let reason = instruction.reason_to_keep()?;
        let filter = DeliveryQuery { cursor: None, limit: None, ..request.filter.clone() };
        let mut tx = self.pool.begin().await?;
        let criteria = criteria_of_bulk(&mut tx, request.action, &filter, &only).await?;
        let total = count_deliveries(&mut tx, &criteria, COUNTED_MAX).await?;
        if let Some(expected) = request.expect.filter(|expected| total > *expected) {
            return Err(OperateError::Refused {
                problem: format!("there are {total} by now, and not {expected}"),
                instead: "look again, and begin with the new count if all of them are meant".to_owned(),
            });
        }
        let id = DeliveryRef::new().uuid();
        let new = NewBulk {
            id,
            action: request.action.as_str(),
            filter: serde_json::to_value(&filter).expect("a query is texts and times"),
            only,
            total,
            operator: &instruction.by.name,
            role: instruction.by.role.as_str(),
            via: instruction.by.via.as_str(),
            reason,
        };
        insert_bulk(&mut tx, &new).await?;
        let details = json!({ "action": new.action, "filter": new.filter, "picked": new.only.len(), "total": total });
        note(&mut tx, instruction, "bulk_begin", &format!("bulk {id}"), &details).await?;
        let row = find_bulk(&mut tx, id).await?;
        tx.commit().await?;
        self.bell.ring_bulks();
        BulkProgress::of(row.ok_or_else(|| no_bulk(&id.to_string()))?)
    }

    /// Stops a bulk where it is. What it has done stays done.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it has ended; those of the database.
    pub async fn stop_bulk(&self, bulk: &str, instruction: Instruction<'_>) -> Result<BulkProgress> {
        let id: Uuid = bulk.parse().map_err(|_| no_bulk(bulk))?;
        let mut tx = self.pool.begin().await?;
        let has_stopped = stop_bulk(&mut tx, id).await?;
        let progress = BulkProgress::of(find_bulk(&mut tx, id).await?.ok_or_else(|| no_bulk(bulk))?)?;
        if !has_stopped {
            return Err(OperateError::Refused {
                problem: format!("the bulk {id} has ended"),
                instead: "what it has done stays done: look at its deliveries".to_owned(),
            });
        }
        let details = json!({ "met": progress.met, "changed": progress.changed, "total": progress.total });
        note(&mut tx, instruction, "bulk_stop", &format!("bulk {id}"), &details).await?;
        tx.commit().await?;
        Ok(progress)
    }

    /// How far a bulk is.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn bulk(&self, bulk: &str) -> Result<BulkProgress> {
        let id: Uuid = bulk.parse().map_err(|_| no_bulk(bulk))?;
        let row = find_bulk(&mut *self.pool.acquire().await?, id).await?;
        BulkProgress::of(row.ok_or_else(|| no_bulk(bulk))?)
    }

    /// Bulks, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn bulks(&self, page: &PageRequest) -> Result<Page<BulkProgress>> {
        let limit = limit_of(Some(page.limit))?;
        let before: Option<DeliveryRef> = key_of(LIST, page.cursor.as_deref())?;
        let mut conn = self.pool.acquire().await?;
        // One more tells whether there is a next page.
        let rows = page_of_bulks(&mut conn, before.map(DeliveryRef::uuid), i64::from(limit) + 1).await?;
        let page = Page::of(rows, limit, LIST, |row| DeliveryRef::from(row.id));
        let items = page.items.into_iter().map(BulkProgress::of).collect::<Result<_>>()?;
        Ok(Page { items, next: page.next })
    }
}

pub(super) fn no_bulk(bulk: &str) -> OperateError {
    OperateError::NotFound { what: "bulk", name: bulk.to_owned() }
}

impl BulkAction {
    /// The word for it in SQL and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Replay => "replay",
            Self::Discard => "discard",
            Self::Cancel => "cancel",
        }
    }

    /// The states in which it can be done.
    #[must_use]
    pub fn done_from(self) -> &'static [DeliveryState] {
        use DeliveryState::{Cancelled, Dead, Queued, Retrying, Skipped, Succeeded, Waiting};
        match self {
            Self::Retry => &RETRIED_FROM,
            Self::Replay => &[Succeeded, Dead, Skipped, Cancelled],
            Self::Discard => &[Dead],
            Self::Cancel => &[Waiting, Queued, Retrying],
        }
    }

    pub(super) fn read(row: &BulkRow) -> Result<Self> {
        let unknown = || StoreError::inconsistent("oncehook.bulks", "action", row.id, "an unknown word").into();
        [Self::Retry, Self::Replay, Self::Discard, Self::Cancel]
            .into_iter()
            .find(|action| action.as_str() == row.action)
            .ok_or_else(unknown)
    }
}

impl BulkProgress {
    fn of(row: BulkRow) -> Result<Self> {
        let action = BulkAction::read(&row)?;
        let state = match row.state.as_str() {
            "running" => BulkState::Running,
            "done" => BulkState::Done,
            _ => BulkState::Stopped,
        };
        Ok(Self {
            bulk: row.id.to_string(),
            action,
            state,
            total: row.total,
            met: row.met,
            changed: row.changed,
            by: row.operator,
            reason: row.reason,
            began_at: row.began_at,
            ended_at: row.ended_at,
        })
    }
}
