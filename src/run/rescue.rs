//! The reconciler: every few seconds it gives lanes and deliveries that no job will run a fresh job, and prunes what apalis
//! leaves behind. One node at a time does it. It never touches a delivery's state: the fresh job finds what there is to do.

use std::time::Duration;

use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};

use super::Context;
use crate::{
    crash_point::crash_point,
    domain::JobId,
    store::{Result, deliveries, jobs, jobs::RunAt, lanes, rescue},
};

/// A job that was taken this long ago, with nothing running under a live lease, is taken for lost. Longer than any job
/// waits in a worker's buffer; should it live after all, it is fenced.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// Repairs in one transaction.
const REPAIRS_MAX: i64 = 500;
/// Rows pruned in one transaction.
const PRUNED_MAX: i64 = 1_000;
/// Ticks between two prunings: it reads all of `apalis.jobs`.
const PRUNE_EVERY: u32 = 12;

/// Rescues until the process stops.
pub(super) async fn keep_rescuing(ctx: Context) {
    let mut tick = interval(ctx.config().run.rescue);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for count in 0_u32.. {
        tokio::select! {
            () = ctx.stop.finishing() => return,
            _ = tick.tick() => {}
        }
        match rescue_once(&ctx.pool).await {
            Ok(0) => {}
            Ok(repairs) => {
                tracing::warn!(repairs, "gave fresh jobs to lanes and deliveries that had none");
                ctx.doorbell.ring();
            }
            Err(error) => tracing::warn!(%error, "looking for lost work failed; trying again at the next tick"),
        }
        if count.is_multiple_of(PRUNE_EVERY)
            && let Err(error) = prune(&ctx.pool).await
        {
            tracing::warn!(%error, "pruning the queue failed; trying again later");
        }
    }
}

/// One round. Returns how many fresh jobs it made; none when another node has the turn.
///
/// # Errors
/// Those of the database.
pub async fn rescue_once(pool: &PgPool) -> Result<u64> {
    let mut tx = pool.begin().await?;
    if !rescue::try_take_turn(&mut tx).await? {
        return Ok(0);
    }
    let mut repairs = 0;
    for (lane, old) in rescue::lanes_without_job(&mut tx, STUCK_AFTER, REPAIRS_MAX).await? {
        repairs += u64::from(lanes::replace_lane_job(&mut tx, &lane, &old, JobId::new(), RunAt::Now).await?);
    }
    for (delivery, old) in rescue::lone_deliveries_without_job(&mut tx, STUCK_AFTER, REPAIRS_MAX).await? {
        repairs += u64::from(deliveries::replace_lone_job(&mut tx, delivery, &old, JobId::new(), RunAt::Now).await?);
    }
    if repairs > 0 {
        crash_point("before_rescue")?;
    }
    tx.commit().await?;
    Ok(repairs)
}

async fn prune(pool: &PgPool) -> Result<()> {
    let mut conn = pool.acquire().await?;
    jobs::prune_done_jobs(&mut conn, PRUNED_MAX).await?;
    jobs::prune_stale_workers(&mut conn, PRUNED_MAX).await?;
    Ok(())
}
