//! What is written in one go: taken from the counters once, and kept as it is until it is known to be written.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Counted, Histogram, Kind, Line};
use crate::store::figures::{FigureLine, HealthLine, UseLine};

/// Minutes in one batch, each with as many lines as there are sources and destinations: a batch after an outage stays one
/// short transaction.
const MINUTES_MAX: usize = 60;

/// Figures on their way to the database, in the order of their keys: so no two processes wait for each other in a circle.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) figures: Vec<FigureLine>,
    pub(super) uses: Vec<UseLine>,
    pub(super) health: Vec<HealthLine>,
    /// Whether the counters had more.
    pub(super) is_followed: bool,
}

impl Batch {
    /// Takes what has been counted; `None` when nothing has.
    pub(super) fn take(counted: &mut Counted) -> Option<Self> {
        let mut lines: BTreeMap<(&'static str, i64, Kind, String), Line> = BTreeMap::new();
        for _ in 0..MINUTES_MAX {
            let Some((minute, kinds)) = counted.minutes.pop_first() else { break };
            for (kind, names) in kinds {
                for (name, line) in names {
                    let hour = ("hour", minute.div_euclid(60) * 60, kind, name.clone());
                    lines.entry(hour).or_default().merge(&line);
                    lines.insert(("minute", minute, kind, name), line);
                }
            }
        }
        let uses = std::mem::take(&mut counted.secrets).into_iter().flat_map(|(source, secrets)| {
            secrets.into_iter().map(move |(secret, uses)| UseLine {
                source: source.to_string(),
                fingerprint: secret.to_string(),
                first_used_at: uses.first,
                last_used_at: uses.last,
                uses: i64::try_from(uses.count).unwrap_or(i64::MAX),
            })
        });
        let health = std::mem::take(&mut counted.health).into_iter().map(|(destination, health)| {
            let (last_failure_at, last_failure) = health.last_failure.unzip();
            let (last_success_at, failures) = (health.last_success, health.failures);
            HealthLine { destination, last_success_at, last_failure_at, last_failure, failures_in_a_row: failures }
        });
        let (uses, health) = (uses.collect(), health.collect());
        let figures = lines.into_iter().map(|((grain, minute, kind, name), line)| FigureLine {
            grain,
            began_at: begin_of(minute),
            kind: kind.as_str(),
            name,
            counts: line.counts.into_iter().map(|(what, count)| (what.to_owned(), count.into())).collect(),
            latency: line.latency.buckets().map(|(bucket, count)| (bucket.to_string(), count.into())).collect(),
        });
        let batch = Self { figures: figures.collect(), uses, health, is_followed: !counted.minutes.is_empty() };
        let is_empty = batch.figures.is_empty() && batch.uses.is_empty() && batch.health.is_empty();
        (!is_empty).then_some(batch)
    }
}

impl Line {
    fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(what, count)| *self.counts.entry(what).or_default() += count);
        Histogram::merge(&mut self.latency, &other.latency);
    }
}

fn begin_of(minute: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(minute * 60, 0).expect("it was made of such a time")
}
