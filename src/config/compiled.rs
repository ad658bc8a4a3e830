//! The configuration after every reference has been resolved and every check has passed.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

pub use super::{
    admin::{Admin, AdminToken},
    kinds::*,
};
use crate::{
    domain::{CallerName, DestinationName, Fingerprint, ReplayGuard, RouteName, Secret, SourceName},
    provider::Provider,
    verify::Scheme,
};

/// All settings, checked. Immutable: a reload makes a new one and swaps it in.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where Oncehook keeps its own files: the embedded cluster, generated secrets, locks of live processes.
    pub data_dir: PathBuf,
    /// Which database.
    pub database: Database,
    /// The public port.
    pub intake: Intake,
    /// The operator's port.
    pub admin: Admin,
    /// Group commit.
    pub record: Record,
    /// Workers.
    pub run: Run,
    /// Shutdown.
    pub shutdown: Shutdown,
    /// The ways in, by name.
    pub sources: BTreeMap<SourceName, Source>,
    /// Where deliveries end, by name.
    pub destinations: BTreeMap<DestinationName, Destination>,
    /// The rules, in the order written.
    pub routes: Vec<Route>,
    /// What works but should be seen: unsigned sources, sources without a route. One sentence each.
    pub warnings: Vec<String>,
}

/// Which database, and how many connections to it.
#[derive(Debug, Clone)]
pub struct Database {
    /// `None`: an embedded PostgreSQL in `data_dir`.
    pub url: Option<secrecy::SecretString>,
    /// Connections for workers and everything but recording.
    pub connections_max: u32,
    /// How long to wait for a free connection before giving up.
    pub acquire_timeout: Duration,
}

/// Limits of the public port. Every one has its reason beside its default in config/oncehook.toml.
#[derive(Debug, Clone)]
pub struct Intake {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Threads that accept and answer.
    pub threads: usize,
    /// Open connections, over all threads.
    pub connections_max: usize,
    /// Bytes of bodies in memory at once, over all requests. Beyond it: 503.
    pub in_flight_bytes_max: usize,
    /// Time for all of a body.
    pub body_timeout: Duration,
    /// Bytes a second below which a body is too slow, after `body_grace`.
    pub body_rate_min: u64,
    /// How long a body may be slow before `body_rate_min` counts.
    pub body_grace: Duration,
    /// Bytes of header lines.
    pub header_bytes_max: usize,
    /// Time for recording, after which the answer is 503.
    pub record_timeout: Duration,
}

/// Group commit: bounds of one batch and of what waits for the next.
#[derive(Debug, Clone)]
pub struct Record {
    /// Receipts in one transaction.
    pub batch_rows_max: usize,
    /// Body bytes in one transaction.
    pub batch_bytes_max: usize,
    /// Receipts that wait for a batch. Beyond it: 503.
    pub queue_max: usize,
    /// Later requests for one receipt that get a row each; more are only counted.
    pub arrivals_kept: i32,
}

/// Workers.
#[derive(Debug, Clone)]
pub struct Run {
    /// Lanes that are worked off at the same time by this process.
    pub concurrency: usize,
    /// How long a worker may hold a delivery without renewing. A dead worker's delivery starts again after this.
    pub lease: Duration,
    /// How often a live worker renews, and says that it lives.
    pub heartbeat: Duration,
    /// Deliveries that one job runs before it hands its lane to a fresh job.
    pub lane_budget: usize,
    /// Time after which it does so too.
    pub lane_budget_time: Duration,
    /// How often to look for jobs when nothing rings.
    pub poll: Duration,
    /// How often to look for lanes without a job, and leases that ran out.
    pub rescue: Duration,
    /// Workers that may die holding a delivery before it is a dead letter.
    pub crashes_max: i32,
}

/// Shutdown.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// How long running work may take to finish after SIGTERM.
    pub grace: Duration,
}

/// One configured way in.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name, and its path: `/hooks/{name}`.
    pub name: SourceName,
    /// Who sends.
    pub provider: Provider,
    /// How requests are signed. `None` only with `allow_unsigned`.
    pub scheme: Option<Scheme>,
    /// Every secret that is good now; several while they rotate. Of an `api` source those of all its callers.
    pub secrets: Vec<Secret>,
    /// Who may send to an `api` source; empty for all others.
    pub callers: Vec<Caller>,
    /// How far a signed timestamp may be from now, both ways.
    pub tolerance: Duration,
    /// The largest body, in bytes.
    pub body_bytes_max: usize,
    /// Whether hooks that share a delivery id are kept apart.
    pub dedupe: Dedupe,
    /// What becomes of bytes that came before under another delivery id.
    pub replay_guard: ReplayGuard,
    /// The status of the answer to a conflict: 409, 200 for senders that would retry for days, 422 for commands.
    pub conflict_status: u16,
}

/// One of those who may send commands to an `api` source. The key of a command is theirs alone.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The name, which is kept with each receipt.
    pub name: CallerName,
    /// Which of the source's secrets are theirs. Invariant: no secret is anybody else's.
    pub secrets: Vec<Fingerprint>,
}

impl Source {
    /// Whose secret this is.
    #[must_use]
    pub fn caller_of(&self, secret: &Fingerprint) -> Option<&CallerName> {
        self.callers.iter().find(|caller| caller.secrets.contains(secret)).map(|caller| &caller.name)
    }
}

/// What makes two requests the same event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dedupe {
    /// The delivery id alone: GitHub gives one id to all hooks that see an event.
    PerEvent,
    /// The delivery id and the hook.
    PerHook,
}

/// Where deliveries end.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Its name.
    pub name: DestinationName,
    /// What it is, with the settings of its kind.
    pub kind: DestinationKind,
    /// Deliveries that run at the same time, over all processes. `None`: as many as there are workers.
    pub concurrency: Option<u32>,
    /// The shortest time between two attempts, over all processes: `rate_limit`, the other way round.
    pub pace: Option<Duration>,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name: with a receipt it makes a delivery, once.
    pub name: RouteName,
    /// Whose events.
    pub source: SourceName,
    /// Which event types, as patterns: a type with all below it (`push`, `pull_request`, or `pull_request.*`), or `*`.
    pub events: Vec<String>,
    /// Which of those: a CEL expression over `payload`, `event` and `source`.
    pub filter: Option<String>,
    /// What waits for what.
    pub order: Order,
    /// Where the value that makes deliveries wait for one another comes from.
    pub ordering_key: KeyFrom,
    /// What becomes of a delivery that is older than what its lane has applied (with [`Order::Event`]).
    pub on_stale: OnStale,
    /// How long a delivery waits for earlier ones that come late (with [`Order::Event`]); zero: not at all.
    pub reorder_window: Duration,
    /// What becomes of the lane of a dead delivery.
    pub on_dead: OnDead,
    /// Where a dead delivery's compensation goes, if there is one.
    pub on_dead_destination: Option<DestinationName>,
    /// Deliveries of this route that run at the same time, over all processes. `None`: as many as there are workers.
    pub concurrency: Option<u32>,
    /// Where they go.
    pub destination: DestinationName,
    /// When to try again.
    pub retry: Retry,
}

/// The order in which a route's deliveries run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One at a time per ordering key, in the order received.
    Arrival,
    /// The same, and by the provider's own event time: what is older than what was applied is stale.
    Event,
    /// No lanes: each delivery by itself.
    None,
}

/// Where a route's ordering keys come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeyFrom {
    /// The provider's table.
    #[default]
    Auto,
    /// A JSON pointer into the payload, such as `/repository/id`.
    Pointer(String),
    /// A CEL expression over `payload`, `event` and `source`.
    Expression(String),
}

/// What becomes of a stale delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnStale {
    /// It is not run: `skipped`.
    #[default]
    Skip,
    /// It is delivered, and says so.
    Deliver,
}

/// What becomes of the lane of a dead delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDead {
    /// It goes on with the next.
    #[default]
    Continue,
    /// It waits until the dead one is asked for again, or an operator unblocks the lane.
    Block,
}

/// When to try again: attempt n waits a random time up to `initial × 2ⁿ⁻¹`, at most `max` (full jitter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, the first included.
    pub attempts: i32,
    /// The longest wait before the second attempt.
    pub initial: Duration,
    /// The longest wait before any attempt.
    pub max: Duration,
}
