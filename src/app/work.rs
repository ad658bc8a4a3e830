//! The workers of this process, on threads of their own.

use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Runtime;

use crate::{
    config::Config,
    handler::Handlers,
    run::{self, Instance, Running},
};

/// Threads for running deliveries, apart from those that take requests.
const WORK_THREADS: usize = 2;

/// The workers, on threads of their own: a burst of requests must not delay their heartbeats.
pub(super) struct Work {
    running: Running,
    runtime: Runtime,
}

impl Work {
    pub(super) async fn stop(self, grace: Duration) {
        if !self.running.stop(grace).await {
            tracing::warn!("deliveries were still under way after shutdown.grace and were put back in their place");
        }
        self.runtime.shutdown_background();
    }
}

pub(super) fn check_handlers(config: &Config, handlers: &Handlers) -> anyhow::Result<()> {
    let missing = handlers.missing(config);
    anyhow::ensure!(
        missing.is_empty(),
        "no Rust handler is registered for {}: give App::start_with a handler of each name (docs/handlers.md), or change the \
         destination's kind. The oncehook command itself has no handlers",
        missing.iter().map(|name| format!("[destinations.{name}]")).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

pub(super) fn runtime_for_work() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORK_THREADS)
        .thread_name("oncehook-work")
        .enable_all()
        .build()
        .context("failed to start the threads that run deliveries")
}

/// Runs `future` on `runtime`, where its connections will live, or here.
pub(super) async fn on<T: Send + 'static>(
    runtime: Option<&Runtime>,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    match runtime {
        Some(runtime) => runtime.spawn(future).await,
        None => Ok(future.await),
    }
}

/// Sets free what dead processes of this data folder held, then starts the workers.
pub(super) async fn start_work(config: &Config, context: &run::Context, runtime: Runtime) -> anyhow::Result<Work> {
    let data_dir = config.data_dir.as_path();
    let folder = || format!("failed to use {}", data_dir.join("instances").display());
    for dead in run::find_dead(data_dir).with_context(folder)? {
        run::bury(&context.pool, dead).await.context("failed to set free what a dead process held")?;
    }
    let instance = Instance::begin(data_dir).with_context(folder)?;
    let running = {
        let _entered = runtime.enter();
        run::start(context, instance)
    };
    Ok(Work { running, runtime })
}
