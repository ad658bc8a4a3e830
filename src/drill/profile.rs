//! How large a drill is: takes what the command line asks for, gives counts and rates.

use std::time::Duration;

/// The two sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// What CI runs with each change: about three minutes.
    Quick,
    /// What stands before a release: half an hour, three receivers and three workers.
    Release,
}

/// The numbers behind a profile. What happens over a load is planned from these and the seed.
#[derive(Debug, Clone)]
pub struct Scale {
    /// Receivers, and as many workers.
    pub nodes: usize,
    /// How long events are sent and faults injected.
    pub load: Duration,
    /// New events, over the whole load.
    pub events: usize,
    /// Requests at a time.
    pub connections: usize,
    /// Each class of faults with how often it is injected.
    pub faults: Vec<(Fault, usize)>,
    /// Deliveries that a drill must have seen to prove anything.
    pub deliveries_min: usize,
}

/// A class of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// `kill -9` of a receiver or a worker.
    Kill9,
    /// SIGTERM: an orderly stop under load.
    Sigterm,
    /// SIGSTOP for longer than the lease, then SIGCONT: a worker that believes to be alive.
    Sigstop,
    /// PostgreSQL stopped as `pg_ctl stop -m immediate` does, and started again.
    PgImmediate,
    /// A session of PostgreSQL ended, by `pg_terminate_backend` or by `kill -9`.
    BackendKill,
}

impl Fault {
    /// Its name in journals and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill9 => "kill9",
            Self::Sigterm => "sigterm",
            Self::Sigstop => "sigstop",
            Self::PgImmediate => "pg_immediate",
            Self::BackendKill => "backend_kill",
        }
    }

    /// Whether it concerns the database, and not one of our processes.
    pub fn is_of_the_database(self) -> bool {
        matches!(self, Self::PgImmediate | Self::BackendKill)
    }
}

/// Deliveries in a minute of load, and faults of each class likewise.
struct Rates {
    nodes: usize,
    deliveries: f64,
    faults: [(Fault, f64); 5],
}

const QUICK: Rates = Rates {
    nodes: 2,
    deliveries: 9_000.0,
    faults: [
        (Fault::Kill9, 27.0),
        (Fault::Sigterm, 3.0),
        (Fault::Sigstop, 2.5),
        (Fault::PgImmediate, 6.5),
        (Fault::BackendKill, 5.0),
    ],
};

const RELEASE: Rates = Rates {
    nodes: 3,
    deliveries: 36_000.0,
    faults: [
        (Fault::Kill9, 35.0),
        (Fault::Sigterm, 7.0),
        (Fault::Sigstop, 4.0),
        (Fault::PgImmediate, 7.0),
        (Fault::BackendKill, 7.0),
    ],
};

impl Profile {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Release => "release",
        }
    }

    /// Its numbers for a load of this many minutes, or of its usual length.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded counts of at most millions")]
    pub fn scale(self, minutes: Option<f64>, routes: usize) -> Scale {
        let (rates, usual) = match self {
            Self::Quick => (QUICK, 2.5),
            Self::Release => (RELEASE, 30.0),
        };
        let minutes = minutes.unwrap_or(usual);
        let over_all = |rate: f64| ((rate * minutes).ceil() as usize).max(1);
        // Forgeries make no deliveries, and lost answers that are never asked for again may make none.
        let deliveries = over_all(rates.deliveries);
        let events = deliveries * 100 / (97 * routes.max(1)) + 1;
        Scale {
            nodes: rates.nodes,
            load: Duration::from_secs_f64(minutes * 60.0),
            events,
            connections: 12 * rates.nodes,
            faults: rates.faults.iter().map(|(fault, rate)| (*fault, over_all(*rate))).collect(),
            deliveries_min: deliveries * 9 / 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_drill_is_as_large_as_ci_asks_for() {
        let scale = Profile::Quick.scale(None, 3);
        let of = |fault| scale.faults.iter().find(|(other, _)| *other == fault).map_or(0, |(_, count)| *count);
        assert!(scale.deliveries_min >= 20_000, "{scale:?}");
        // Nine of ten must be injected.
        assert!(of(Fault::Kill9) * 9 / 10 >= 60 && of(Fault::PgImmediate) * 9 / 10 >= 15, "{scale:?}");
        assert!(scale.faults.iter().all(|(_, count)| *count > 0));
    }
}
