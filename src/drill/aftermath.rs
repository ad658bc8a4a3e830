//! After the last fault: waits until nothing is unfinished, and measures from the database how long recovery took.

use std::{collections::BTreeMap, path::Path, time::Duration};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;
use tokio::time::Instant;

use super::{cluster::Cluster, journal};

/// How long the work that is left may take.
pub const DRAINED_WITHIN: Duration = Duration::from_secs(60);

/// What the database holds at the end.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Stored {
    /// Receipts.
    pub receipts: i64,
    /// Arrivals of each kind, beside the first.
    pub arrivals: BTreeMap<String, i64>,
    /// Payloads kept as conflicts.
    pub conflicts: i64,
    /// Deliveries in each state.
    pub deliveries: BTreeMap<String, i64>,
    /// Attempts.
    pub attempts: i64,
}

/// How long it took from a `kill -9` of a worker to the next attempt of what it held.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Recovery {
    /// All of it, outages of the database included.
    pub all: Waits,
    /// Where the database was up from the kill to the next attempt.
    pub database_up: Waits,
}

/// Waits, in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Waits {
    /// Deliveries that a killed worker held.
    pub count: usize,
    /// Half of them were running again after this.
    pub p50_ms: Option<i64>,
    /// Nearly all of them.
    pub p99_ms: Option<i64>,
}

impl Waits {
    fn of(mut micros: Vec<i64>) -> Self {
        micros.sort_unstable();
        let at = |percent: usize| {
            micros.get((micros.len() * percent).div_ceil(100).saturating_sub(1)).map(|micros| micros / 1_000)
        };
        Self { count: micros.len(), p50_ms: at(50), p99_ms: at(99) }
    }
}

#[derive(Deserialize)]
struct FaultLine {
    at_us: i64,
    until_us: i64,
    fault: String,
    target: String,
    pid: i32,
}

/// Waits until no delivery is unfinished, since `since`. Gives how long that took, or `None` when it took too long.
///
/// # Errors
/// When the database does not answer.
pub async fn until_drained(cluster: &Cluster, since: Instant, within: Duration) -> anyhow::Result<Option<Duration>> {
    loop {
        let unfinished = async {
            let mut conn = cluster.connect("oncehook").await?;
            let count = sqlx::query_scalar::<_, i64>(
                "select (select count(*) from oncehook.deliveries where finished_at is null)
                      + (select count(*) from oncehook.lanes)",
            );
            count.fetch_one(&mut conn).await.context("failed to count what is unfinished")
        };
        if unfinished.await? == 0 {
            return Ok(Some(since.elapsed()));
        }
        if since.elapsed() > within {
            return Ok(None);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Counts what is stored.
///
/// # Errors
/// Those of the database.
pub async fn count(cluster: &Cluster) -> anyhow::Result<Stored> {
    let mut conn = cluster.connect("oncehook").await?;
    let rows = sqlx::query(
        "select 'receipts', '', count(*) from oncehook.receipts
         union all select 'arrivals', kind, sum(1 + repeats) from oncehook.arrivals group by kind
         union all select 'conflicts', '', count(*) from oncehook.conflicts
         union all select 'deliveries', state, count(*) from oncehook.deliveries group by state
         union all select 'attempts', '', count(*) from oncehook.attempts",
    );
    let mut stored = Stored::default();
    for row in rows.fetch_all(&mut conn).await.context("failed to count what is stored")? {
        let (what, kind, count): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
        match what.as_str() {
            "receipts" => stored.receipts = count,
            "conflicts" => stored.conflicts = count,
            "attempts" => stored.attempts = count,
            "arrivals" => drop(stored.arrivals.insert(kind, count)),
            _ => drop(stored.deliveries.insert(kind, count)),
        }
    }
    Ok(stored)
}

/// Measures recovery after each `kill -9` of a worker that the journal of faults tells of.
///
/// # Errors
/// When the journal or the database cannot be read.
pub async fn measure_recovery(cluster: &Cluster, faults: &Path) -> anyhow::Result<Recovery> {
    let mut conn = cluster.connect("oncehook").await?;
    let faults: Vec<FaultLine> = journal::read(faults)?;
    let outages: Vec<_> = faults.iter().filter(|fault| fault.target.starts_with("postgresql")).collect();
    let (mut all, mut database_up) = (Vec::new(), Vec::new());
    for kill in faults.iter().filter(|fault| fault.fault == "kill9" && fault.target.contains("worker")) {
        // What the process held when it died: attempts of its workers (`host/pid/…`) that nobody could close in time.
        let rows = sqlx::query_scalar::<_, i64>(
            "select (extract(epoch from next.started_at) * 1000000)::bigint - $2
             from oncehook.attempts held
             join oncehook.attempts next on next.delivery = held.delivery and next.number = held.number + 1
             where held.worker like '%/' || $1 || '/%' and held.outcome = 'unknown'
               and (extract(epoch from held.started_at) * 1000000)::bigint <= $2
               and (extract(epoch from held.finished_at) * 1000000)::bigint >= $2",
        );
        let rows = rows.bind(kill.pid.to_string()).bind(kill.at_us).fetch_all(&mut conn).await;
        for wait in rows.context("failed to measure recovery")? {
            let is_within = |outage: &&FaultLine| outage.at_us < kill.at_us + wait && outage.until_us > kill.at_us;
            if !outages.iter().any(is_within) {
                database_up.push(wait);
            }
            all.push(wait);
        }
    }
    Ok(Recovery { all: Waits::of(all), database_up: Waits::of(database_up) })
}
