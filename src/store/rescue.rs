//! What the reconciler looks for: lanes and deliveries that no job will run.
//!
//! Reads only; the repair is a guarded move in `lanes` and `deliveries`, so that what changed between look and repair
//! stays as it is (pitfall B070).

use std::time::Duration;

use sqlx::PgConnection;

use super::{Result, read};
use crate::domain::{DeliveryRef, LaneKey, OrderingKey};

/// Takes the turn of the reconciler until the transaction ends; false when another node has it. No session lock: behind
/// PgBouncer a session is not ours.
///
/// # Errors
/// Those of the database.
pub async fn try_take_turn(conn: &mut PgConnection) -> Result<bool> {
    // "oncehook" in bytes: far from the 32-bit keys that apalis takes for its workers.
    // A node that is paused within its turn must not keep the others from theirs for as long as a session may be idle.
    let row = sqlx::query!(
        r#"select pg_try_advisory_xact_lock($1) as "is_mine!",
                  set_config('idle_in_transaction_session_timeout', '5s', true) as limit"#,
        0x6f6e_6365_686f_6f6b_i64
    )
    .fetch_one(conn)
    .await?;
    Ok(row.is_mine)
}

/// Lanes whose job is missing, over, or was taken longer than `stuck` ago without anything running: with the job's id
/// as the lane holds it.
///
/// Locks nothing. A lane and its job are always committed together, so one statement sees both or neither.
///
/// # Errors
/// Those of the database.
pub async fn lanes_without_job(
    conn: &mut PgConnection,
    stuck: Duration,
    lanes_max: i64,
) -> Result<Vec<(LaneKey, String)>> {
    let rows = sqlx::query!(
        "select l.route, l.ordering_key, l.job_id
         from oncehook.lanes l left join apalis.jobs j on j.id = l.job_id
         where (l.blocked_by is null or exists (
                    select from oncehook.deliveries d
                    where d.route = l.route and d.ordering_key = l.ordering_key and d.finished_at is null
                      and d.purpose = 'compensate'))
           and (j.id is null or j.status in ('Done', 'Killed') or (j.status = 'Failed' and j.attempts >= j.max_attempts)
            or (j.status in ('Queued', 'Running') and j.lock_at < oncehook.now() - make_interval(secs => $1)
                and not exists (
                    select from oncehook.deliveries d
                    where d.route = l.route and d.ordering_key = l.ordering_key and d.finished_at is null
                      and d.state = 'running' and d.lease_expires_at > oncehook.now())))
         limit $2",
        stuck.as_secs_f64(),
        lanes_max,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let lane = LaneKey { route: read(&row.route)?, ordering_key: OrderingKey::new(&row.ordering_key) };
            Ok((lane, row.job_id))
        })
        .collect()
}

/// Unfinished deliveries without a lane whose job is missing, over or stuck, as in [`lanes_without_job`]. Locks nothing.
///
/// # Errors
/// Those of the database.
pub async fn lone_deliveries_without_job(
    conn: &mut PgConnection,
    stuck: Duration,
    deliveries_max: i64,
) -> Result<Vec<(DeliveryRef, String)>> {
    let rows = sqlx::query!(
        r#"select d.id, coalesce(d.job_id, '') as "job_id!"
           from oncehook.deliveries d left join apalis.jobs j on j.id = d.job_id
           where d.ordering_key is null and d.finished_at is null
             and (j.id is null or j.status in ('Done', 'Killed')
                  or (j.status = 'Failed' and j.attempts >= j.max_attempts)
                  or (j.status in ('Queued', 'Running') and j.lock_at < oncehook.now() - make_interval(secs => $1)
                      and not (d.state = 'running' and d.lease_expires_at > oncehook.now())))
           limit $2"#,
        stuck.as_secs_f64(),
        deliveries_max,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.job_id)).collect())
}
