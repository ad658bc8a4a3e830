//! Figures over time, for the overview.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{
    Desk, Result,
    series::{Board, Range},
};
use crate::{
    domain::{DestinationName, SourceName},
    store::{
        self,
        figure_sums::{self, FigureRange, Which},
        pending,
    },
};

/// Deliveries that are counted, at most: as many rows are read.
const DELIVERIES_COUNTED_MAX: i64 = 100_000;

/// Blocked lanes and held receipts that are counted, at most.
const LANES_COUNTED_MAX: i64 = 10_000;

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
    /// Points over the range, 1 to 500; by default 60. A point covers whole minutes, from an hour on whole hours (UTC), so that
    /// there may be fewer.
    pub points: Option<u32>,
}

/// The figures.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Stats {
    /// From then, a whole minute.
    pub since: DateTime<Utc>,
    /// Until then: the end of the last point.
    pub until: DateTime<Utc>,
    /// How much one point covers, in seconds.
    pub step_seconds: i64,
    /// Everything together.
    pub total: Series,
    /// By source; without requests to sources that do not exist, which are in the total.
    pub by_source: BTreeMap<String, Series>,
    /// By destination.
    pub by_destination: BTreeMap<String, Series>,
    /// What is unfinished now.
    pub backlog: Backlog,
}

/// What is unfinished now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Backlog {
    /// Deliveries by state: the unfinished ones, of which 100,000 are looked at, and the dead, up to 100,000.
    pub deliveries: BTreeMap<String, i64>,
    /// When the unfinished delivery that has waited the longest (of the 100,000) was planned.
    pub oldest_waiting_since: Option<DateTime<Utc>>,
    /// Blocked lanes, counted up to 10,000.
    pub blocked_lanes: i64,
    /// Receipts held as suspected replays, counted up to 10,000.
    pub held: i64,
}

/// One line of figures.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Series {
    /// Sums over the range, by what was counted: `accepted`, `duplicate`, `unverified`, …; `succeeded`, `failed`, `rejected`,
    /// `unknown` for attempts; `dead` for dead letters.
    pub sums: BTreeMap<String, i64>,
    /// From the first byte to the answer, of requests that came as far as the database.
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
    /// From the first byte to the answer, of requests that came as far as the database.
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
    /// [`OperateError::Invalid`](super::OperateError::Invalid) for a range that is none or longer than 31 days; those of the database.
    pub async fn stats(&self, query: &StatsQuery) -> Result<Stats> {
        let mut conn = self.pool.acquire().await?;
        let range = Range::of(query, figure_sums::now(&mut conn).await?)?;
        let (sources, destinations) = match (query.source.as_deref(), query.destination.as_deref()) {
            (None, None) => (Which::All, Which::All),
            (source, destination) => (only(source), only(destination)),
        };
        let Range { since, until, step_seconds, .. } = range;
        let asked = FigureRange { since, until, step_seconds, sources, destinations };
        let sums = figure_sums::sum_figures(&mut conn, asked).await?;
        let backlog = Backlog::look(&mut conn).await?;
        drop(conn);

        let config = self.live.load().config.clone();
        let sources_known = config.sources.keys().map(SourceName::as_str).filter(|name| is_asked(sources, name));
        let known = config.destinations.keys().map(DestinationName::as_str);
        let destinations_known = known.filter(|name| is_asked(destinations, name));
        let mut board = Board::new(&range, sources_known, destinations_known);
        sums.iter().for_each(|sum| board.add(sum));
        let (total, by_source, by_destination) = board.finish();
        Ok(Stats { since, until, step_seconds, total, by_source, by_destination, backlog })
    }
}

fn only(name: Option<&str>) -> Which<'_> {
    name.map_or(Which::None, Which::One)
}

fn is_asked(which: Which<'_>, name: &str) -> bool {
    match which {
        Which::None => false,
        Which::All => true,
        Which::One(one) => one == name,
    }
}

impl Backlog {
    /// What is unfinished at this moment.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn look(conn: &mut PgConnection) -> store::Result<Self> {
        let states = pending::count_states(conn, DELIVERIES_COUNTED_MAX).await?;
        let (blocked_lanes, held) = pending::count_stopped(conn, LANES_COUNTED_MAX).await?;
        let oldest_waiting_since = states.iter().filter_map(|state| state.oldest).min();
        let deliveries = states.into_iter().map(|state| (state.state, state.count)).collect();
        Ok(Self { deliveries, oldest_waiting_since, blocked_lanes, held })
    }
}
