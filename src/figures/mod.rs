//! Figures: what a process counts of requests, attempts and how long they took, by minute. Counting is a lock of a few
//! instructions and no I/O; [`flush`](Figures::flush) writes what is new every 10 seconds.
//!
//! Everything is bounded by the configuration: a name is that of a source or a destination, and requests to sources that do
//! not exist share one. Nothing a sender writes makes a new line.

mod batch;
mod flush;
mod histogram;
mod metrics;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chrono::{DateTime, Utc};

use self::{flush::Flushing, metrics::Buckets};
pub use self::{
    flush::{Writer, prune_figures_once},
    histogram::Histogram,
};
use crate::{
    clock::Clock,
    domain::{DeliveryState, DestinationName, Fingerprint, OutcomeClass, SourceName},
    intake::Turnout,
    store::deliveries::Settlement,
};

/// Minutes that wait to be written while the database is away. Older ones are dropped, and said to be.
const MINUTES_MAX: usize = 24 * 60;

/// What a line of figures is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A destination: attempts, dead letters, times from receipt to success.
    Destination,
    /// A source: requests, times from the first byte to the answer.
    Source,
}

/// What one process counts. Clones count into the same.
#[derive(Debug, Clone, Default)]
pub struct Figures(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    clock: Clock,
    counted: Mutex<Counted>,
    flushing: tokio::sync::Mutex<Flushing>,
}

/// What is counted and not yet taken for writing, and for Prometheus what was counted since the start.
#[derive(Debug, Default)]
struct Counted {
    /// By minutes since 1970.
    minutes: BTreeMap<i64, Minute>,
    secrets: BTreeMap<SourceName, BTreeMap<Fingerprint, Uses>>,
    health: BTreeMap<String, Health>,
    since_start: BTreeMap<Kind, BTreeMap<String, Buckets>>,
}

type Minute = BTreeMap<Kind, BTreeMap<String, Line>>;

/// Figures of one name in one minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Line {
    counts: BTreeMap<&'static str, u64>,
    latency: Histogram,
}

/// How often a secret has verified a request.
#[derive(Debug, Clone, Copy)]
struct Uses {
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    count: u64,
}

/// How attempts at a destination went.
#[derive(Debug, Clone, Default)]
struct Health {
    last_success: Option<DateTime<Utc>>,
    last_failure: Option<(DateTime<Utc>, String)>,
    /// Since the last success, if there was one.
    failures: i64,
}

impl Kind {
    /// The word for it in SQL.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }
}

impl Figures {
    /// Figures whose minutes are those of `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { clock, ..Inner::default() }))
    }

    /// A request was answered: `took` from the first byte. Of requests that were refused before anything was recorded the time
    /// is not kept: a flood of them would make answers look quick.
    pub fn answered(&self, source: Option<&SourceName>, turnout: Turnout, took: Duration) {
        let name = source.map_or("", SourceName::as_str);
        let mut counted = self.counted();
        let line = counted.line(self.0.clock.now(), Kind::Source, name);
        *line.counts.entry(turnout.as_str()).or_default() += 1;
        if source.is_some() && turnout.was_recorded() {
            line.latency.add(took);
            counted.buckets(Kind::Source, name).add(Kind::Source, took);
        }
    }

    /// A secret of a source verified a request.
    pub fn verified(&self, source: &SourceName, secret: &Fingerprint) {
        let now = self.0.clock.now();
        let mut counted = self.counted();
        if !counted.secrets.contains_key(source) {
            counted.secrets.insert(source.clone(), BTreeMap::new());
        }
        let of_source = counted.secrets.get_mut(source).expect("it was put there just now");
        if let Some(uses) = of_source.get_mut(secret) {
            (uses.last, uses.count) = (now, uses.count + 1);
        } else {
            of_source.insert(secret.clone(), Uses { first: now, last: now, count: 1 });
        }
    }

    /// An attempt was settled: the delivery's receipt came in at `received_at`, by the clock of the process that took it. What
    /// has passed since is told by this process's clock, which is the same on one machine.
    pub fn settled(&self, destination: &DestinationName, end: &Settlement, received_at: DateTime<Utc>) {
        let (now, name) = (self.0.clock.now(), destination.as_str());
        let mut counted = self.counted();
        let line = counted.line(now, Kind::Destination, name);
        *line.counts.entry(end.outcome.class.as_str()).or_default() += 1;
        match end.state {
            DeliveryState::Dead => *line.counts.entry("dead").or_default() += 1,
            DeliveryState::Succeeded => {
                let took = (now - received_at).to_std().unwrap_or_default();
                line.latency.add(took);
                counted.buckets(Kind::Destination, name).add(Kind::Destination, took);
            }
            // A shutdown interrupted it: this says nothing about the destination.
            DeliveryState::Queued => return,
            _ => {}
        }
        let health = entry(&mut counted.health, name);
        if end.outcome.class == OutcomeClass::Succeeded {
            (health.last_success, health.failures) = (Some(now), 0);
        } else {
            health.last_failure = Some((now, end.outcome.reason.clone()));
            health.failures += 1;
        }
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Counters that a panic left are as good as any.
        self.0.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn line(&mut self, at: DateTime<Utc>, kind: Kind, name: &str) -> &mut Line {
        let minute = at.timestamp().div_euclid(60);
        if !self.minutes.contains_key(&minute) && self.minutes.len() >= MINUTES_MAX {
            tracing::warn!("figures of a minute are dropped: they could not be written for a day");
            self.minutes.pop_first();
        }
        entry(self.minutes.entry(minute).or_default().entry(kind).or_default(), name)
    }

    fn buckets(&mut self, kind: Kind, name: &str) -> &mut Buckets {
        entry(self.since_start.entry(kind).or_default(), name)
    }
}

/// The value of a name, which is copied only when it is new.
fn entry<'m, T: Default>(map: &'m mut BTreeMap<String, T>, name: &str) -> &'m mut T {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), T::default());
    }
    map.get_mut(name).expect("it was put there just now")
}
