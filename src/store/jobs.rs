//! The rows of `apalis.jobs` that are ours: what stands in them, and the few ways they come and go. Never runs one.
//!
//! apalis-postgres 1.0.0 owns the table. What we rely on (its columns, its states, that a job counts as due once
//! `run_at < now()`) is held by tests/it/lanes.rs.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::Result;
use crate::domain::{DeliveryRef, JobId, LaneKey, OrderingKey};

/// The queue's name in `apalis.jobs.job_type`.
pub const QUEUE: &str = "oncehook";

/// What a job is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Work {
    /// Work off this lane.
    Lane(LaneKey),
    /// Run this one delivery, which has no lane (`order = "none"`).
    Delivery(DeliveryRef),
}

/// When a job is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunAt {
    /// At once.
    Now,
    /// At this time.
    At(DateTime<Utc>),
    /// This long from now, by the database's clock.
    After(Duration),
}

impl RunAt {
    pub(super) fn at(self) -> Option<DateTime<Utc>> {
        if let Self::At(at) = self { Some(at) } else { None }
    }

    /// Where no time is given. "Now" is one second back: apalis takes what was due *before* its own now.
    pub(super) fn after_seconds(self) -> f64 {
        if let Self::After(delay) = self { delay.as_secs_f64() } else { -1.0 }
    }
}

/// A job whose payload is not ours to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the job's payload does not read: {0}; was it written by a newer Oncehook?")]
pub struct UnreadableJob(String);

/// The payload as it stands in the row. Every field has a default: apalis ends a worker on a payload that fails to decode,
/// so that a newer version's fields must not fail here.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Payload {
    v: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<String>,
}

impl Work {
    /// The payload for the job's row: `{"v":1,"route":"…","ordering_key":"…"}` or `{"v":1,"delivery":"dlv_…"}`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let payload = match self {
            Self::Lane(lane) => Payload {
                v: 1,
                route: Some(lane.route.to_string()),
                ordering_key: Some(lane.ordering_key.to_string()),
                delivery: None,
            },
            Self::Delivery(delivery) => Payload { v: 1, delivery: Some(delivery.to_string()), ..Payload::default() },
        };
        serde_json::to_vec(&payload).expect("texts and a number always encode")
    }

    /// Reads a job's payload.
    ///
    /// # Errors
    /// [`UnreadableJob`] when the payload is none of the two forms.
    pub fn decode(payload: &[u8]) -> std::result::Result<Self, UnreadableJob> {
        let refused = |reason: String| UnreadableJob(reason);
        let payload: Payload = serde_json::from_slice(payload).map_err(|e| refused(e.to_string()))?;
        match payload {
            Payload { v: 1, delivery: Some(delivery), .. } => {
                delivery.parse().map(Self::Delivery).map_err(|e| refused(e.to_string()))
            }
            Payload { v: 1, route: Some(route), ordering_key: Some(key), .. } => {
                let route = route.parse().map_err(|e: crate::domain::NameError| refused(e.to_string()))?;
                Ok(Self::Lane(LaneKey { route, ordering_key: OrderingKey::new(&key) }))
            }
            Payload { v, .. } => Err(refused(format!("version {v}, with neither a lane nor a delivery"))),
        }
    }
}

/// Puts a job on the queue. Locks nothing that exists.
///
/// # Errors
/// Those of the database.
pub async fn insert_job(conn: &mut PgConnection, job: JobId, work: &Work, run_at: RunAt) -> Result<()> {
    sqlx::query!(
        "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
         values ($1, 'oncehook', $2, 'Pending', 0, 1000000, coalesce($3, oncehook.now() + make_interval(secs => $4)), 0)",
        job.to_string(),
        work.encode(),
        run_at.at(),
        run_at.after_seconds(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Jobs that are due, in the order in which a worker would take them. Locks nothing: for draining by hand.
///
/// # Errors
/// Those of the database.
pub async fn due_jobs(conn: &mut PgConnection, jobs_max: i64) -> Result<Vec<(String, Vec<u8>)>> {
    let rows = sqlx::query!(
        "select id, job from apalis.jobs
         where job_type = 'oncehook' and (status = 'Pending' or (status = 'Failed' and attempts < max_attempts))
           and run_at < oncehook.now()
         order by priority desc, run_at, id limit $1",
        jobs_max,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.job)).collect())
}

/// Marks a job that is through as apalis would, if it is still there. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn finish_job(conn: &mut PgConnection, job: &str) -> Result<()> {
    sqlx::query!("update apalis.jobs set status = 'Done', done_at = oncehook.now() where id = $1", job)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes jobs that ended more than an hour ago, at most `jobs_max`. Locks those rows; passes over locked ones.
///
/// # Errors
/// Those of the database.
pub async fn prune_done_jobs(conn: &mut PgConnection, jobs_max: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from apalis.jobs where id in (
             select id from apalis.jobs
             where job_type = 'oncehook' and status = 'Done' and done_at < oncehook.now() - interval '1 h'
             limit $1 for update skip locked)",
        jobs_max,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes workers that have not been seen for an hour and hold no job, at most `workers_max`. Locks those rows.
///
/// # Errors
/// Those of the database.
pub async fn prune_stale_workers(conn: &mut PgConnection, workers_max: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from apalis.workers where id in (
             select w.id from apalis.workers w
             where w.worker_type = 'oncehook' and w.last_seen < oncehook.now() - interval '1 h'
               and not exists (select from apalis.jobs j where j.lock_by = w.id)
             limit $1 for update skip locked)",
        workers_max,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_reads_back_from_its_payload() {
        let lane = Work::Lane(LaneKey {
            route: "deploy".parse().unwrap(),
            ordering_key: OrderingKey::new("pull_request/\"1\"\u{1}é"),
        });
        let delivery = Work::Delivery(DeliveryRef::new());
        for work in [lane, delivery] {
            assert_eq!(Work::decode(&work.encode()), Ok(work));
        }
    }

    #[test]
    fn a_payload_of_another_version_is_refused_and_not_guessed() {
        for bad in [&br#"{"v":2,"route":"a","ordering_key":"b"}"#[..], b"{}", b"", b"[1]", br#"{"v":1,"route":"a"}"#] {
            assert!(Work::decode(bad).is_err());
        }
        assert!(Work::decode(br#"{"v":1,"route":"a","ordering_key":"b","new":true}"#).is_ok());
    }
}
