//! What a drill found: facts only. `cli::drill` shows them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    aftermath::{Recovery, Stored},
    load::Counts,
    scenes::Played,
    verdict::Verdict,
};

/// Everything there is to tell.
#[derive(Debug, Serialize)]
pub struct Report {
    /// `PASS` or `FAIL`; of a negative control `CAUGHT` or `MISSED`.
    pub verdict: &'static str,
    /// What the plans were drawn from.
    pub seed: u64,
    /// The size.
    pub profile: &'static str,
    /// The safety that was switched off on purpose.
    pub control: Option<&'static str>,
    /// Part one.
    pub scenes: Vec<Played>,
    /// Part two.
    pub load: Load,
    /// What was checked.
    pub checks: Vec<Verdict>,
    /// Where everything is, if it was kept.
    pub home: Option<String>,
    /// How to do the same again.
    pub repeat: String,
}

/// The figures of the random load.
#[derive(Debug, Serialize)]
pub struct Load {
    /// How long events were sent and faults injected.
    pub seconds: f64,
    /// Requests.
    pub sent: Counts,
    /// What the database holds.
    pub stored: Stored,
    /// Calls and effects at each sink.
    pub effects: BTreeMap<&'static str, Effects>,
    /// Faults of each class.
    pub faults: BTreeMap<&'static str, usize>,
    /// Finished deliveries a second, over the load.
    pub deliveries_per_second: f64,
    /// From the last fault until nothing was unfinished.
    pub drained_in_ms: Option<u128>,
    /// After `kill -9` of a worker.
    pub recovery: Recovery,
}

/// What came to a sink.
#[derive(Debug, Default, Serialize)]
pub struct Effects {
    /// Calls.
    pub calls: usize,
    /// Calls that it acted on.
    pub effects: usize,
    /// Deliveries that it acted on.
    pub deliveries: usize,
}

impl Report {
    /// Whether everything held.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        matches!(self.verdict, "PASS" | "CAUGHT")
    }
}
