//! The composition root: takes a configuration, puts the appliance together, and takes it apart in good order. Nothing in
//! here decides what happens to an event.

mod port;
mod work;

use std::{net::SocketAddr, sync::Arc, time::Instant};

use anyhow::Context as _;
use tokio::task::JoinHandle;

use self::{
    port::Port,
    work::{Work, check_handlers, on, runtime_for_work, start_work},
};
use crate::{
    admin::{self, Admin, auth::Access},
    blueprint::Blueprint,
    clock::Clock,
    config::{self, Config},
    database::Database,
    deliver::LiveDestinations,
    domain::OperatorToken,
    figures::{self, Figures},
    handler::Handlers,
    health::{self, Health},
    intake::{self, Budget, Intake, Tally},
    operate::{self, Desk, Operator, Via},
    record::Recorder,
    run::{self, Doorbell, Stop},
    shutdown,
};

/// Connections for recording: one works, another is there at once when it breaks.
const RECORDER_CONNECTIONS: u32 = 2;

/// Connections for operators: a few, so that a slow search never holds up the work or the next question.
const OPERATOR_CONNECTIONS: u32 = 4;

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
    figures: figures::Writer,
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
            figures: Figures::new(clock.clone()),
        };
        let pool = database.operating_pool(&few(&config, OPERATOR_CONNECTIONS)).await?;
        let desk = Desk { pool, live: live.clone(), bell: context.doorbell.clone() };
        if role.works {
            tokio::spawn(operate::keep_working_bulks(desk.clone(), context.stop.clone()));
        }
        let writer = figures::Writer::start(&context.figures, database.pool("figures", &few(&config, 1)).await?);
        let figures = context.figures.clone();
        figures.expect(config.sources.keys(), config.destinations.keys());
        let (tally, budget) = (Arc::new(Tally::of(config.sources.keys())), Budget::new());
        let work = match work_runtime {
            Some(runtime) => Some(start_work(&config, &context, runtime).await?),
            None => None,
        };
        let (intake, recording) = if role.receives {
            let (port, recording) =
                open_intake(&config, &database, &context, &clock, (tally.clone(), budget.clone())).await?;
            (Some(port), Some(recording))
        } else {
            (None, None)
        };
        let pool = database.pool("operators", &few(&config, OPERATOR_CONNECTIONS)).await?;
        let access = Access::new(live, pool, clock.clone());
        let admin = Admin { health: health.clone(), tally, figures, budget, access, desk: desk.clone(), clock };
        let bound = admin::bind(&config.admin, admin)
            .with_context(|| format!("failed to listen for operators on {}", config.admin.listen))?;
        Ok(Self {
            config,
            database,
            health,
            context,
            desk,
            intake,
            admin: Port::open(bound),
            recording,
            work,
            figures: writer,
        })
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

    /// Makes the first token of an operator, unless there is one already, in the configuration or in the database. To be shown once.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn make_first_token(&self) -> anyhow::Result<Option<OperatorToken>> {
        if self.config.admin.no_auth || !self.config.admin.tokens.is_empty() {
            return Ok(None);
        }
        let by = Operator { name: "oncehook".to_owned(), role: operate::Role::Operate, via: Via::CommandLine };
        let mut conn = self.context.pool.acquire().await?;
        operate::make_first_token(&mut conn, &by).await.context("failed to make a first token for operators")
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
        self.figures.stop().await;
        self.context.pool.close().await;
        self.database.close().await
    }
}

/// The settings of the database for a part that needs few connections.
fn few(config: &Config, connections_max: u32) -> config::Database {
    config::Database { connections_max, ..config.database.clone() }
}

/// Opens the public port, with the recorder behind it.
async fn open_intake(
    config: &Config,
    database: &Database,
    context: &run::Context,
    clock: &Clock,
    (tally, budget): (Arc<Tally>, Budget),
) -> anyhow::Result<(Port, JoinHandle<()>)> {
    let settings = few(config, RECORDER_CONNECTIONS);
    let pool = database.recording_pool(&settings).await?;
    let (recorder, recording) = Recorder::start(pool, &config.record, context.doorbell.clone());
    let pool = database.pool("status", &settings).await?;
    let (live, figures, clock) = (context.live.clone(), context.figures.clone(), clock.clone());
    let intake = Intake { live, recorder, budget, tally, figures, pool, clock };
    let bound = intake::bind(&config.intake, intake, config.shutdown.grace)
        .with_context(|| format!("failed to listen for webhooks on {}", config.intake.listen))?;
    Ok((Port::open(bound), recording))
}
