//! The apalis workers of this process: built, watched, rebuilt after they die, stopped. apalis hands them jobs; what a job
//! does is `drain`. Never retries, times out or limits through apalis' own layers: those leave jobs `Running` for ever.

use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use apalis::layers::WorkerBuilderExt as _;
use apalis_core::{
    backend::{codec::Codec, ext::BackendExt as _},
    error::{AbortError, BoxDynError, WorkerError},
    task::{data::Data, task_id::TaskId},
    worker::{builder::WorkerBuilder, context::WorkerContext, ext::parallelize::ParallelizeExt as _},
};
use apalis_postgres::PostgresStorage;
use futures_util::{FutureExt as _, future::BoxFuture};
use sqlx::{PgPool, postgres::PgPoolOptions};

use super::{Context, InstanceName, drain_job};
use crate::{
    crash_point::crash_point,
    domain::JobId,
    store::{
        instances,
        jobs::{QUEUE, UnreadableJob, Work},
        pool::guarded,
    },
};

/// Heartbeats that a worker may miss before its jobs are taken from it: 20 s with the default heartbeat.
const HEARTBEATS_MISSED: usize = 4;
/// apalis counts the time of missed heartbeats in whole seconds, and 0 would make every job of every worker an orphan.
const HEARTBEAT_MIN: Duration = Duration::from_millis(500);
/// Jobs that one fetch takes. A worker with fetched jobs in its buffer sends no heartbeat, so that a fetch must be small
/// enough to be begun soon.
const BATCH_MAX: usize = 16;
/// A job that failed for want of a database is fetched again at once; this keeps it from spinning.
const FAILED_JOB_WAIT: Duration = Duration::from_millis(200);
/// The pauses before a dead worker is rebuilt: from the first to the last, doubling.
const REBUILD_WAITS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));

/// How the process's concurrency is spread over apalis workers: two where there is something to share, so that one
/// fetches while the other acknowledges.
pub(super) fn shares(concurrency: usize) -> Vec<usize> {
    let concurrency = concurrency.max(1);
    if concurrency < 8 { vec![concurrency] } else { vec![concurrency.div_ceil(2), concurrency / 2] }
}

/// Keeps one worker alive until the process stops and what it runs has ended.
pub(super) async fn keep_worker(ctx: Context, instance: InstanceName, number: usize, concurrency: usize) {
    let mut wait = REBUILD_WAITS.0;
    for restart in 0_u64.. {
        // A name is used once: a successor under the same name would keep the jobs of its predecessor "alive" for ever.
        let name = instance.worker(&format!("{number}-{restart}"));
        let begun = tokio::time::Instant::now();
        let ended = tokio::spawn(run_worker(ctx.clone(), name.clone(), concurrency)).await;
        if ctx.stop.is_finishing() {
            return;
        }
        let reason = match ended {
            Ok(Ok(())) => "it ended by itself".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic.to_string(),
        };
        wait = if begun.elapsed() > 10 * REBUILD_WAITS.1 { REBUILD_WAITS.0 } else { (2 * wait).min(REBUILD_WAITS.1) };
        let wait = wait.mul_f64(0.5 + rand::random::<f64>() / 2.0);
        tracing::warn!(worker = name, reason, ?wait, "a worker died; it is rebuilt");
        tokio::select! {
            () = ctx.stop.finishing() => return,
            () = tokio::time::sleep(wait) => {}
        }
        release_jobs(&ctx, &name).await;
    }
}

/// What the dead worker had fetched goes back at once. Jobs of it that still run find themselves fenced or alone.
async fn release_jobs(ctx: &Context, worker: &str) {
    let released = match ctx.pool.acquire().await {
        Ok(mut conn) => instances::release_jobs(&mut conn, worker).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = released {
        tracing::debug!(worker, %error, "jobs of a dead worker were not released; apalis does so in 20 s");
    }
}

async fn run_worker(ctx: Context, name: String, concurrency: usize) -> Result<(), WorkerError> {
    let stop = ctx.stop.clone();
    let (context, mut running) = build_worker(ctx, name, concurrency);
    tokio::select! {
        result = &mut running => return result,
        () = stop.finishing() => {}
    }
    // A worker can only be stopped once its first poll has started it.
    while context.stop().is_err() {
        tokio::select! {
            result = &mut running => return result,
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
    }
    running.await
}

fn build_worker(
    ctx: Context,
    name: String,
    concurrency: usize,
) -> (WorkerContext, BoxFuture<'static, Result<(), WorkerError>>) {
    let run = ctx.config().run.clone();
    let settings = apalis_postgres::Config::default()
        .queue(QUEUE)
        .batch_size(concurrency.div_ceil(2).min(BATCH_MAX))
        .lock_tasks(false)
        .heartbeat_interval(run.heartbeat.max(HEARTBEAT_MIN))
        .missed_heartbeats(HEARTBEATS_MISSED);
    let backend = PostgresStorage::<Ticket>::new(&queue_pool(&ctx.pool))
        .with_config(settings)
        .with_codec(TicketCodec)
        .poll_with_strategy(ctx.doorbell.listen(run.poll));
    let context = WorkerContext::new(&name);
    let worker = WorkerBuilder::new(&context)
        .backend(backend)
        .data(ctx)
        .data(Arc::<str>::from(name))
        .concurrency(concurrency)
        // Otherwise every wake of every running job makes the worker fetch.
        .parallelize(tokio::spawn)
        .build(run_job);
    (context, worker.run().boxed())
}

/// Connections for one life of one worker, which go with it: a worker that stops or dies drops futures in the middle of
/// `begin()`, and its connections are then inside a transaction that nobody ends (see [`guarded`]). Its session locks go too.
fn queue_pool(pool: &PgPool) -> PgPool {
    guarded(PgPoolOptions::new())
        .max_connections(2)
        .acquire_timeout(pool.options().get_acquire_timeout())
        .connect_lazy_with((*pool.connect_options()).clone())
}

/// What apalis calls for each job. Ok whatever became of the deliveries: retries are not apalis' business.
async fn run_job(ticket: Ticket, id: TaskId, ctx: Data<Context>, worker: Data<Arc<str>>) -> Result<(), BoxDynError> {
    let work = match ticket.0 {
        Ok(work) => work,
        Err(error) => {
            tracing::error!(job = %id, %error, "a job on the queue is not readable and is set aside");
            return Err(AbortError::new(error).into());
        }
    };
    let job: JobId = id.to_string().parse()?;
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Sabotage::LargerClaimBatches) {
        let _ = tokio::join!(drain_job(&ctx, &worker, job, &work), drain_job(&ctx, &worker, job, &work));
        return Ok(());
    }
    let drained = AssertUnwindSafe(drain_job(&ctx, &worker, job, &work)).catch_unwind().await;
    let problem: BoxDynError = match (drained, crash_point("after_job")) {
        (Ok(Ok(_)), Ok(())) => return Ok(()),
        (Ok(Ok(_)), Err(error)) | (Ok(Err(error)), _) => error.into(),
        (Err(_), _) => "draining a lane panicked: this is a fault in Oncehook, please report it".into(),
    };
    tracing::warn!(%job, error = %problem, "a job failed and is tried again");
    tokio::time::sleep(FAILED_JOB_WAIT).await;
    Err(problem)
}

/// A job's payload, readable or not: apalis ends a worker whose codec fails.
#[derive(Debug, Clone)]
struct Ticket(Result<Work, UnreadableJob>);

#[derive(Debug, Clone, Copy)]
struct TicketCodec;

impl Codec<Ticket> for TicketCodec {
    type Error = Infallible;
    type Compact = Vec<u8>;

    fn encode(&self, ticket: &Ticket) -> Result<Vec<u8>, Infallible> {
        Ok(ticket.0.as_ref().map(Work::encode).unwrap_or_default())
    }

    fn decode(&self, payload: &Vec<u8>) -> Result<Ticket, Infallible> {
        Ok(Ticket(Work::decode(payload)))
    }
}
