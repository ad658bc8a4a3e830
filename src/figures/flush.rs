//! Writes what was counted: every 10 seconds, and when the process stops. A batch has a number, which is written with it: one
//! whose outcome is unknown is sent again, and is not added twice. What a killed process had not written yet (10 seconds,
//! or what was counted while the database was away) is lost.

use std::time::Duration;

use sqlx::PgPool;
use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at},
};
use ulid::Ulid;

use super::{Figures, batch::Batch};
use crate::{
    shutdown::{self, Shutdown},
    store::{self, figures},
};

/// Between two writings: so old may a figure on a page be.
const FLUSH_EVERY: Duration = Duration::from_secs(10);

/// What the last writing may take, while the process stops.
const LAST_FLUSH: Duration = Duration::from_secs(2);

/// Writings between two prunings.
const PRUNE_EVERY: u32 = 60;

/// Rows pruned in one transaction.
const PRUNED_MAX: i64 = 1_000;

/// How far the writing is.
#[derive(Debug)]
pub(super) struct Flushing {
    /// Names this life of the process.
    process: String,
    /// Of the last batch that was taken.
    number: i64,
    /// The batch that may not be written yet.
    batch: Option<Batch>,
}

impl Default for Flushing {
    fn default() -> Self {
        Self { process: Ulid::generate().to_string(), number: 0, batch: None }
    }
}

impl Figures {
    /// Writes what was counted and is not written yet.
    ///
    /// # Errors
    /// Those of the database. Nothing is lost by one: the next call sends the same again.
    pub async fn flush(&self, pool: &PgPool) -> store::Result<()> {
        let mut flushing = self.0.flushing.lock().await;
        loop {
            if flushing.batch.is_none() {
                flushing.batch = Batch::take(&mut self.counted());
                flushing.number += 1;
            }
            let Some(batch) = &flushing.batch else { return Ok(()) };
            write(pool, &flushing.process, flushing.number, batch).await?;
            let is_followed = batch.is_followed;
            flushing.batch = None;
            if !is_followed {
                return Ok(());
            }
        }
    }
}

/// Writes a batch, unless it was written before.
async fn write(pool: &PgPool, process: &str, number: i64, batch: &Batch) -> store::Result<()> {
    let mut tx = pool.begin().await?;
    if figures::mark_flush(&mut tx, process, number).await? {
        figures::add_figures(&mut tx, &batch.figures).await?;
        figures::add_uses(&mut tx, &batch.uses).await?;
        figures::add_health(&mut tx, &batch.health).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Writes what a process counts, for as long as it runs.
#[derive(Debug)]
pub struct Writer {
    stop: shutdown::Trigger,
    ended: JoinHandle<()>,
}

impl Writer {
    /// Begins. `pool` should be its own: one connection, which is there when all others are busy, and when the threads that
    /// run deliveries have ended.
    #[must_use]
    pub fn start(figures: &Figures, pool: PgPool) -> Self {
        let (stop, stopping) = shutdown::channel();
        Self { stop, ended: tokio::spawn(keep_flushing(figures.clone(), pool, stopping)) }
    }

    /// Writes what is left, and ends.
    pub async fn stop(self) {
        self.stop.pull();
        let _ = self.ended.await; // what broke is in the log
    }
}

async fn keep_flushing(figures: Figures, pool: PgPool, mut stopping: Shutdown) {
    let mut tick = interval_at(Instant::now() + FLUSH_EVERY, FLUSH_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for count in 0_u32.. {
        tokio::select! {
            () = stopping.begun() => break,
            _ = tick.tick() => {}
        }
        if let Err(error) = figures.flush(&pool).await {
            tracing::debug!(%error, "figures were not written; they are kept, and sent again");
        } else if count.is_multiple_of(PRUNE_EVERY)
            && let Err(error) = prune_figures_once(&pool).await
        {
            tracing::debug!(%error, "old figures were not pruned; trying again later");
        }
    }
    match tokio::time::timeout(LAST_FLUSH, figures.flush(&pool)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the last figures were not written"),
        Err(_) => tracing::warn!("the last figures were not written in time"),
    }
    pool.close().await;
}

/// Deletes figures that are older than the longest range that can be asked for, a bounded number in each transaction.
/// Returns how many.
///
/// # Errors
/// Those of the database.
pub async fn prune_figures_once(pool: &PgPool) -> store::Result<u64> {
    let mut conn = pool.acquire().await?;
    let mut pruned = figures::prune_flushes(&mut conn, PRUNED_MAX).await?;
    loop {
        let some = figures::prune_figures(&mut conn, PRUNED_MAX).await?;
        pruned += some;
        if some < PRUNED_MAX.unsigned_abs() {
            return Ok(pruned);
        }
    }
}
