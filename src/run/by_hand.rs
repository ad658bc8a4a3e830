//! Draining by hand: what the workers would do now, one job after another, without apalis. For tests and tools.

use super::{Context, drain_job};
use crate::store::{
    Result,
    jobs::{Work, due_jobs, finish_job},
};

/// Jobs that one call runs.
const JOBS_MAX: i64 = 1_000;

/// Runs the jobs that are due, to their end, as the worker `worker`. Returns how many there were: call it until that is 0.
///
/// # Errors
/// Those of the database.
pub async fn drain_due(ctx: &Context, worker: &str) -> Result<usize> {
    let due = due_jobs(&mut *ctx.pool.acquire().await?, JOBS_MAX).await?;
    for (id, payload) in &due {
        match (id.parse(), Work::decode(payload)) {
            (Ok(job), Ok(work)) => {
                drain_job(ctx, worker, job, &work).await?;
            }
            (Err(error), _) => tracing::error!(job = id, %error, "a job on the queue has an unreadable id"),
            (_, Err(error)) => tracing::error!(job = id, %error, "a job on the queue is not readable and is set aside"),
        }
        // As apalis does with the row of a job that went well, if the job itself has not deleted it.
        finish_job(&mut *ctx.pool.acquire().await?, id).await?;
    }
    Ok(due.len())
}
