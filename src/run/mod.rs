//! Run: apalis workers wake up and work off lanes. apalis is the doorbell and the executor; what is true stands in our
//! own tables.
//!
//! The way of a delivery through here: `drain` (a job's loop) → `turn` (whose turn is it) → `attempt` (the effect) →
//! `settlement` (what becomes of it) → `turn` (settle, and on to the next); for an effect in this database all of that but
//! the claim is one transaction (`within`). `rescue` and `instance` bring back what a dead process left.

mod attempt;
mod by_hand;
mod deliverer;
mod doorbell;
mod drain;
mod instance;
mod outbox;
mod rescue;
pub mod retry;
mod rules;
mod settlement;
mod stop;
mod turn;
mod within;
mod workers;

use std::{sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

pub use self::{
    by_hand::drain_due,
    deliverer::Deliverer,
    doorbell::Doorbell,
    drain::{Drained, drain_job},
    instance::{DeadInstance, Instance, InstanceName, bury, find_dead},
    outbox::dispatch_outbox_once,
    rescue::rescue_once,
    rules::rules_of,
    stop::Stop,
};
use crate::{blueprint, config::Config, figures::Figures};

/// What running work needs. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// Connections; a running delivery holds none, but for one whose effect is in this database.
    pub pool: PgPool,
    /// The configuration of this moment.
    pub live: blueprint::Live,
    /// Where deliveries go out.
    pub deliverer: Arc<dyn Deliverer>,
    /// Rung after each commit that put a job on the queue.
    pub doorbell: Doorbell,
    /// Tells work to end.
    pub stop: Stop,
    /// How attempts go is counted here.
    pub figures: Figures,
}

impl Context {
    /// The settings of this moment, for one decision: a reload changes what the next call gives.
    fn config(&self) -> Arc<Config> {
        self.live.load().config.clone()
    }
}

/// The workers, the reconciler and the outbox's dispatcher of this process.
#[derive(Debug)]
pub struct Running {
    tasks: JoinSet<()>,
    stop: Stop,
    pool: PgPool,
    instance: Instance,
}

/// How long dropped deliveries get to be put back.
const LETTING_GO: Duration = Duration::from_secs(2);

/// Starts the workers, the reconciler and the outbox's dispatcher on the current runtime.
#[must_use]
pub fn start(ctx: &Context, instance: Instance) -> Running {
    let mut tasks = JoinSet::new();
    for (number, share) in workers::shares(ctx.config().run.concurrency).into_iter().enumerate() {
        tasks.spawn(workers::keep_worker(ctx.clone(), instance.name().clone(), number, share));
    }
    tasks.spawn(rescue::keep_rescuing(ctx.clone()));
    tasks.spawn(outbox::keep_dispatching(ctx.clone()));
    Running { tasks, stop: ctx.stop.clone(), pool: ctx.pool.clone(), instance }
}

impl Running {
    /// Stops: begins nothing new, gives what runs `grace` to end, then puts it back in its place for the next process.
    /// Returns whether everything ended by itself.
    pub async fn stop(mut self, grace: Duration) -> bool {
        self.stop.finish();
        let until = Instant::now() + grace;
        let has_ended = self.all_ended(until).await;
        if !has_ended {
            self.stop.let_go();
            self.all_ended(until + LETTING_GO).await;
        }
        self.tasks.shutdown().await;
        // What still has our name on it, such as jobs of a fetch that was under way, need not wait for a time-out.
        match instance::set_free(&self.pool, self.instance.name()).await {
            Ok(_) => self.instance.end(),
            Err(error) => tracing::warn!(%error, "not everything was set free; the next start does it"),
        }
        has_ended
    }

    async fn all_ended(&mut self, until: Instant) -> bool {
        timeout_at(until, async { while self.tasks.join_next().await.is_some() {} }).await.is_ok()
    }
}
