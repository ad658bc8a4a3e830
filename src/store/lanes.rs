//! `oncehook.lanes`: which job owns a lane, and how it changes hands. Never looks into payloads and never runs anything.

use sqlx::PgConnection;

use super::{
    Result,
    deliveries::{Head, HeadRow},
    jobs::{RunAt, Work},
};
use crate::domain::{JobId, LaneKey};

/// What a job finds in the lane that it came for.
#[derive(Debug)]
pub enum LaneView {
    /// The lane belongs to another job, or is gone.
    NotMine,
    /// Nothing in it is unfinished, as far as this statement saw.
    Empty,
    /// The first unfinished delivery, its row locked.
    Head(Head),
}

/// Looks at the head of a lane. Locks the head's row until the transaction ends, waiting for whoever holds it: with SKIP
/// LOCKED a second worker would take the second delivery (pitfall B066). The lane's row is read and not locked, so that
/// recording never waits for a claim; `job` is an economy, what keeps two workers apart is the head's lock and its token.
///
/// # Errors
/// Those of the database.
pub async fn lock_lane_head(conn: &mut PgConnection, lane: &LaneKey, job: JobId) -> Result<LaneView> {
    let row = sqlx::query_as!(
        HeadRow,
        r#"select h.id as "id?", h.state as "state?", h.attempts as "token?", h.destination as "destination?",
                  h.due_at as "due_at?", h.lease_expires_at as "lease_expires_at?",
                  h.due_at <= oncehook.now() as "is_due?", h.lease_expires_at <= oncehook.now() as "lease_is_over?"
           from oncehook.lanes l
           left join lateral (
               select d.id, d.state, d.attempts, d.destination, d.due_at, d.lease_expires_at
               from oncehook.deliveries d
               where d.route = $1 and d.ordering_key = $2 and d.finished_at is null
               order by d.seq limit 1 for update
           ) h on true
           where l.route = $1 and l.ordering_key = $2 and l.job_id = $3"#,
        lane.route.as_str(),
        lane.ordering_key.as_str(),
        job.to_string(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(match row {
        None => LaneView::NotMine,
        Some(row) => row.into_head().map_or(LaneView::Empty, LaneView::Head),
    })
}

/// Gives a lane a fresh job, due at `run_at`, and takes the old one off the queue. False when the lane did not
/// belong to `old` any more; then nothing is changed. Locks the lane's row, then the old job's.
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

/// Locks a lane's row, if it belongs to `job`, so that nothing can be recorded into it until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock_lane(conn: &mut PgConnection, lane: &LaneKey, job: JobId) -> Result<bool> {
    let row = sqlx::query_scalar!(
        "select job_id from oncehook.lanes where route = $1 and ordering_key = $2 and job_id = $3 for update",
        lane.route.as_str(),
        lane.ordering_key.as_str(),
        job.to_string(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some())
}

/// Deletes a lane and its job if nothing in the lane is unfinished. Call it in a statement of its own *after*
/// [`lock_lane`]: only then does it see what a recorder committed while we waited for the lock (one combined statement
/// keeps its older snapshot and loses that delivery). Locks the lane's row and the job's.
///
/// # Errors
/// Those of the database.
pub async fn delete_lane_if_empty(conn: &mut PgConnection, lane: &LaneKey, job: JobId) -> Result<bool> {
    let done = sqlx::query_scalar!(
        r#"with gone as (
               delete from oncehook.lanes l where l.route = $1 and l.ordering_key = $2 and l.job_id = $3
                  and not exists (select from oncehook.deliveries d
                                  where d.route = $1 and d.ordering_key = $2 and d.finished_at is null)
               returning l.job_id
           ), job as (
               delete from apalis.jobs j using gone where j.id = gone.job_id
           )
           select exists (select from gone) as "is_done!""#,
        lane.route.as_str(),
        lane.ordering_key.as_str(),
        job.to_string(),
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
