//! The composition root: takes a configuration, puts the appliance together, and takes it apart in good order. Nothing in
//! here decides what happens to an event.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use tokio::{runtime::Runtime, task::JoinHandle};

use crate::{
    admin::{self, Admin},
    blueprint::Blueprint,
    clock::Clock,
    config::{self, Config},
    database::Database,
    deliver::LiveDestinations,
    handler::Handlers,
    health::{self, Health},
    intake::{self, BoundServer, Budget, Intake, Tally},
    operate::{self, Desk},
    record::Recorder,
    run::{self, Doorbell, Instance, Running, Stop},
    shutdown,
};

/// Connections for recording: one works, another is there at once when it breaks.
const RECORDER_CONNECTIONS: u32 = 2;

/// Connections for operators: a few, so that a slow search never holds up the work or the next question.
const OPERATOR_CONNECTIONS: u32 = 4;

/// Threads for running deliveries, apart from those that take requests.
const WORK_THREADS: usize = 2;

/// Which parts of the appliance a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    /// Takes webhooks.
    pub receives: bool,
    /// Runs deliveries.
    pub works: bool,
}

/// A running appliance.
pub struct App {
    config: Arc<Config>,
    database: Database,
    health: Health,
    context: run::Context,
    desk: Desk,
    intake: Option<Port>,
    admin: Port,
    recording: Option<JoinHandle<()>>,
    work: Option<Work>,
}

/// A port, with the server behind it.
struct Port {
    address: SocketAddr,
    stop: shutdown::Trigger,
    served: JoinHandle<io::Result<()>>,
}

/// The workers, on threads of their own: a burst of requests must not delay their heartbeats.
struct Work {
    running: Running,
    runtime: Runtime,
}

impl App {
    /// Opens the database, sets free what a dead process held, and starts what `role` asks for.
    ///
    /// # Errors
    /// When a part cannot be started; what was started before is left to the end of the process.
    pub async fn start(config: Config, clock: Clock, role: Role) -> anyhow::Result<Self> {
        Self::start_with(config, clock, role, Handlers::new()).await
    }

    /// The same with Rust handlers, each for a destination of kind "handler".
    ///
    /// # Errors
    /// As [`start`](Self::start), and when deliveries are to be run and a destination has no handler.
    pub async fn start_with(config: Config, clock: Clock, role: Role, handlers: Handlers) -> anyhow::Result<Self> {
        if role.works {
            check_handlers(&config, &handlers)?;
        }
        let config = Arc::new(config);
        let database = Database::open(&config).await?;
        let live = Blueprint::of(config.clone(), &clock).context("failed to make the configuration ready")?.live();
        let health = Health::default();
        let work_runtime = if role.works { Some(runtime_for_work()?) } else { None };
        let pool = on(work_runtime.as_ref(), database.pool("work", &config.database)).await??;
        tokio::spawn(health::watch(health.clone(), pool.clone()));
        let context = run::Context {
            pool,
            live: live.clone(),
            deliverer: Arc::new(LiveDestinations::new(live.clone(), handlers)),
            doorbell: Doorbell::default(),
            stop: Stop::default(),
        };
        let settings = config::Database { connections_max: OPERATOR_CONNECTIONS, ..config.database.clone() };
        let pool = database.operating_pool(&settings).await?;
        let desk = Desk { pool, live: live.clone(), bell: context.doorbell.clone() };
        tokio::spawn(operate::keep_working_bulks(desk.clone(), context.stop.clone()));
        let (tally, budget) = (Arc::new(Tally::of(config.sources.keys())), Budget::new());
        let work = match work_runtime {
            Some(runtime) => Some(start_work(&config, &context, runtime).await?),
            None => None,
        };
        let (intake, recording) = if role.receives {
            let settings = config::Database { connections_max: RECORDER_CONNECTIONS, ..config.database.clone() };
            let pool = database.recording_pool(&settings).await?;
            let (recorder, recording) = Recorder::start(pool, &config.record, context.doorbell.clone());
            let pool = database.pool("status", &settings).await?;
            let intake = Intake { live, recorder, budget: budget.clone(), tally: tally.clone(), pool, clock };
            let bound = intake::bind(&config.intake, intake, config.shutdown.grace)
                .with_context(|| format!("failed to listen for webhooks on {}", config.intake.listen))?;
            (Some(Port::open(bound)), Some(recording))
        } else {
            (None, None)
        };
        let bound = admin::bind(&config.admin, Admin { health: health.clone(), tally, budget })
            .with_context(|| format!("failed to listen for operators on {}", config.admin.listen))?;
        Ok(Self { config, database, health, context, desk, intake, admin: Port::open(bound), recording, work })
    }

    /// Where webhooks are taken, if they are.
    #[must_use]
    pub fn intake_address(&self) -> Option<SocketAddr> {
        self.intake.as_ref().map(|port| port.address)
    }

    /// Where operators look.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.address
    }

    /// What running deliveries needs; for draining by hand.
    #[must_use]
    pub fn context(&self) -> &run::Context {
        &self.context
    }

    /// Where operators ask and order.
    #[must_use]
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// The database it works on.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Waits until shutdown begins, or until a server or the recorder ends by itself.
    ///
    /// # Errors
    /// When one of them ended by itself: a process that can only answer 503 is better started again.
    pub async fn run_until(&mut self, mut shutdown: shutdown::Shutdown) -> anyhow::Result<()> {
        let intake = async {
            match &mut self.intake {
                Some(port) => (&mut port.served).await,
                None => std::future::pending().await,
            }
        };
        let recording = async {
            match &mut self.recording {
                Some(recording) => recording.await.map(Ok),
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            () = shutdown.begun() => return Ok(()),
            ended = recording => ended,
            ended = intake => ended,
            ended = &mut self.admin.served => ended,
        };
        ended.context("a server or the recorder broke down")?.context("a server stopped")?;
        anyhow::bail!("a server or the recorder ended by itself")
    }

    /// Stops in good order: no new requests and no new deliveries; requests under way answered, their receipts committed,
    /// deliveries under way finished within `shutdown.grace` or put back; then the database. The grace is one for all: whoever
    /// sent the signal kills when it is over.
    ///
    /// # Errors
    /// When the embedded database does not stop.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.health.stopping();
        let until = Instant::now() + self.config.shutdown.grace;
        self.context.stop.finish();
        if let Some(port) = self.intake {
            port.close("intake").await;
        }
        // The last handle of the recorder went with the intake; it commits what it has and ends.
        if let Some(recording) = self.recording
            && !recording.is_finished()
            && recording.await.is_err()
        {
            tracing::error!("the recorder broke down");
        }
        if let Some(work) = self.work {
            work.stop(until.saturating_duration_since(Instant::now())).await;
        }
        self.admin.close("admin").await;
        self.desk.pool.close().await;
        self.context.pool.close().await;
        self.database.close().await
    }
}

impl Port {
    fn open(bound: BoundServer) -> Self {
        let (stop, stopping) = shutdown::channel();
        Self { address: bound.address(), stop, served: tokio::spawn(bound.run(stopping)) }
    }

    async fn close(self, name: &str) {
        self.stop.pull();
        if !self.served.is_finished()
            && let Err(error) = self.served.await.unwrap_or_else(|broken| Err(io::Error::other(broken)))
        {
            tracing::warn!(%error, "the {name} port did not close in good order");
        }
    }
}

impl Work {
    async fn stop(self, grace: Duration) {
        if !self.running.stop(grace).await {
            tracing::warn!("deliveries were still under way after shutdown.grace and were put back in their place");
        }
        self.runtime.shutdown_background();
    }
}

fn check_handlers(config: &Config, handlers: &Handlers) -> anyhow::Result<()> {
    let missing = handlers.missing(config);
    anyhow::ensure!(
        missing.is_empty(),
        "no Rust handler is registered for {}: give App::start_with a handler of each name (docs/handlers.md), or change the \
         destination's kind. The oncehook command itself has no handlers",
        missing.iter().map(|name| format!("[destinations.{name}]")).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

fn runtime_for_work() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORK_THREADS)
        .thread_name("oncehook-work")
        .enable_all()
        .build()
        .context("failed to start the threads that run deliveries")
}

/// Runs `future` on `runtime`, where its connections will live, or here.
async fn on<T: Send + 'static>(
    runtime: Option<&Runtime>,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    match runtime {
        Some(runtime) => runtime.spawn(future).await,
        None => Ok(future.await),
    }
}

/// Sets free what dead processes of this data folder held, then starts the workers.
async fn start_work(config: &Config, context: &run::Context, runtime: Runtime) -> anyhow::Result<Work> {
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
