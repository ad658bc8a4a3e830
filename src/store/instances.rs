//! What one process (an instance) holds in the database, and how it is set free once that process is gone.
//!
//! The names of an instance's workers begin with the instance's own name and a slash; so do the leases. Never decides
//! who is dead.

use sqlx::PgConnection;

use super::Result;

/// Ends the leases that an instance's workers hold, so that the next look at those deliveries takes them back. Returns how
/// many. Locks those deliveries' rows.
///
/// # Errors
/// Those of the database.
pub async fn end_leases(conn: &mut PgConnection, prefix: &str) -> Result<u64> {
    let done = sqlx::query!(
        "update oncehook.deliveries set lease_expires_at = oncehook.now()
         where state = 'running' and starts_with(leased_by, $1) and lease_expires_at > oncehook.now()",
        prefix,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Puts the jobs that an instance's workers took back on the queue. Returns how many. Locks those jobs' rows.
///
/// # Errors
/// Those of the database.
pub async fn release_jobs(conn: &mut PgConnection, prefix: &str) -> Result<u64> {
    // The states are spelled out as in the partial index, which a parameter would keep the planner from using.
    let done = sqlx::query!(
        "update apalis.jobs set status = 'Pending', lock_by = null, lock_at = null
         where (status = 'Running' or status = 'Queued') and job_type = 'oncehook' and starts_with(lock_by, $1)",
        prefix,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
