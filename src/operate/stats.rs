//! Figures over time, for the overview.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Result};

/// Which figures. As a query string.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct StatsQuery {
    /// From then; by default an hour before `until`.
    pub since: Option<DateTime<Utc>>,
    /// Until then; by default now.
    pub until: Option<DateTime<Utc>>,
    /// Only of this source.
    pub source: Option<String>,
    /// Only of this destination.
    pub destination: Option<String>,
    /// Points over the range, 1 to 500; by default 60. A point covers whole minutes.
    pub points: Option<u32>,
}

/// The figures.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Stats {
    /// From then, a whole minute.
    pub since: DateTime<Utc>,
    /// Until then.
    pub until: DateTime<Utc>,
    /// How much one point covers, in seconds.
    pub step_seconds: i64,
    /// Everything together.
    pub total: Series,
    /// By source.
    pub by_source: BTreeMap<String, Series>,
    /// By destination.
    pub by_destination: BTreeMap<String, Series>,
    /// What is unfinished now.
    pub backlog: Backlog,
}

/// What is unfinished now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Backlog {
    /// Deliveries by state, the unfinished ones and the dead, counted up to 100,000 each.
    pub deliveries: BTreeMap<String, i64>,
    /// When the unfinished delivery that has waited the longest was planned.
    pub oldest_waiting_since: Option<DateTime<Utc>>,
    /// Blocked lanes, counted up to 10,000.
    pub blocked_lanes: i64,
    /// Receipts held as suspected replays.
    pub held: i64,
}

/// One line of figures.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Series {
    /// Sums over the range, by what was counted: `accepted`, `duplicate`, `unverified`, …; `succeeded`, `failed`, `rejected`,
    /// `unknown` for attempts; `dead` for dead letters.
    pub sums: BTreeMap<String, i64>,
    /// From the first byte to the answer.
    pub answer: Latency,
    /// From the receipt to the delivery's success.
    pub done: Latency,
    /// The points, oldest first, without gaps.
    pub points: Vec<StatsPoint>,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct StatsPoint {
    /// Where it begins.
    pub at: DateTime<Utc>,
    /// What was counted, as in [`Series::sums`].
    pub counts: BTreeMap<String, i64>,
    /// From the first byte to the answer.
    pub answer: Latency,
    /// From the receipt to the delivery's success.
    pub done: Latency,
}

/// Quantiles, in milliseconds; `None`: nothing was measured. From a histogram of fixed buckets: good to about 10 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Latency {
    /// Half were no slower.
    pub p50_ms: Option<f64>,
    /// 99 of 100 were no slower.
    pub p99_ms: Option<f64>,
}

impl Desk {
    /// Figures over a range of time. Processes write theirs about every 10 seconds.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a range that is none or longer than 31 days; those of the database.
    pub async fn stats(&self, _query: &StatsQuery) -> Result<Stats> {
        Err(OperateError::NotYet)
    }
}
