//! `oncehook.lanes`: which job owns a lane, and how it changes hands. Taking turns and retiring are in `turns`.

use sqlx::PgConnection;

use super::{
    Result,
    jobs::{RunAt, Work},
};
use crate::domain::{JobId, LaneKey};

/// Gives a lane a fresh job, due at `run_at`, and takes the old one off the queue.
///
/// False when the lane did not belong to `old` any more; then nothing is changed. Locks the lane's row, then the old
/// job's.
///
/// # Errors
/// Those of the database.
pub async fn replace_lane_job(
    conn: &mut PgConnection,
    lane: &LaneKey,
    old: &str,
    fresh: JobId,
    run_at: RunAt,
) -> Result<bool> {
    let done = sqlx::query_scalar!(
        r#"with mine as (
               update oncehook.lanes set job_id = $4 where route = $1 and ordering_key = $2 and job_id = $3
               returning job_id
           ), fresh as (
               insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
               select job_id, 'oncehook', $5, 'Pending', 0, 1000000,
                      coalesce($6, oncehook.now() + make_interval(secs => $7)), 0
               from mine
           ), gone as (
               delete from apalis.jobs where id = $3 and exists (select from mine)
           )
           select exists (select from mine) as "is_done!""#,
        lane.route.as_str(),
        lane.ordering_key.as_str(),
        old,
        fresh.to_string(),
        Work::Lane(lane.clone()).encode(),
        run_at.at(),
        run_at.after_seconds(),
    )
    .fetch_one(conn)
    .await?;
    Ok(done)
}

/// Makes a lane's job due at once, if it waits on the queue: for a worker that finished a delivery on whose account the
/// lane had been parked. Locks the job's row.
///
/// # Errors
/// Those of the database.
pub async fn bring_lane_forward(conn: &mut PgConnection, lane: &LaneKey) -> Result<()> {
    sqlx::query!(
        "update apalis.jobs j set run_at = oncehook.now() - interval '1 s'
         from oncehook.lanes l
         where l.route = $1 and l.ordering_key = $2 and j.id = l.job_id and j.status = 'Pending'
           and j.run_at > oncehook.now()",
        lane.route.as_str(),
        lane.ordering_key.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}
