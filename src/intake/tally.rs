//! Counts what requests came to. The counters are bounded by the configuration: nothing a sender writes makes a new one.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::domain::SourceName;

/// What a request came to, as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turnout {
    /// A new receipt.
    Accepted,
    /// Seen before.
    Duplicate,
    /// Seen before with another payload.
    Conflict,
    /// The same bytes under another id, refused.
    Replay,
    /// No valid signature.
    Unverified,
    /// Not understood.
    Malformed,
    /// Larger than allowed.
    TooLarge,
    /// Slower than allowed, or broken off.
    TooSlow,
    /// Not stored, or not known to be.
    NotRecorded,
    /// A look at what became of a command.
    Looked,
    /// No source of that name.
    UnknownSource,
}

impl Turnout {
    /// All of them, in the order of the counters.
    pub const ALL: [Self; 11] = [
        Self::Accepted,
        Self::Duplicate,
        Self::Conflict,
        Self::Replay,
        Self::Unverified,
        Self::Malformed,
        Self::TooLarge,
        Self::TooSlow,
        Self::NotRecorded,
        Self::Looked,
        Self::UnknownSource,
    ];

    /// Whether the request was good and came as far as the database.
    #[must_use]
    pub fn was_recorded(self) -> bool {
        matches!(self, Self::Accepted | Self::Duplicate | Self::Conflict | Self::Replay | Self::NotRecorded)
    }

    /// The label's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Duplicate => "duplicate",
            Self::Conflict => "conflict",
            Self::Replay => "suspected_replay",
            Self::Unverified => "unverified",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::NotRecorded => "not_recorded",
            Self::Looked => "looked",
            Self::UnknownSource => "unknown_source",
        }
    }
}

/// Counters by source and turnout.
#[derive(Debug)]
pub struct Tally {
    sources: BTreeMap<SourceName, [AtomicU64; Turnout::ALL.len()]>,
    unknown_source: AtomicU64,
}

impl Tally {
    /// Counters for these sources, all 0.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a SourceName>) -> Self {
        let sources = sources.into_iter().map(|name| (name.clone(), Default::default())).collect();
        Self { sources, unknown_source: AtomicU64::new(0) }
    }

    /// Counts one request.
    pub fn count(&self, source: Option<&SourceName>, turnout: Turnout) {
        let counter = source
            .and_then(|name| self.sources.get(name))
            .map_or(&self.unknown_source, |counters| &counters[turnout as usize]);
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests of `source` came to `turnout`.
    #[must_use]
    pub fn counted(&self, source: &SourceName, turnout: Turnout) -> u64 {
        self.sources.get(source).map_or(0, |counters| counters[turnout as usize].load(Ordering::Relaxed))
    }

    /// The counters as Prometheus text.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        let mut text = String::from(
            "# HELP oncehook_arrivals_total Requests on the intake port, by what they came to.\n\
             # TYPE oncehook_arrivals_total counter\n",
        );
        let mut line = |source: &str, turnout: Turnout, count: u64| {
            let turnout = turnout.as_str();
            text.push_str(&format!("oncehook_arrivals_total{{source=\"{source}\",turnout=\"{turnout}\"}} {count}\n"));
        };
        for (source, counters) in &self.sources {
            for turnout in Turnout::ALL {
                line(source.as_str(), turnout, counters[turnout as usize].load(Ordering::Relaxed));
            }
        }
        line("", Turnout::UnknownSource, self.unknown_source.load(Ordering::Relaxed));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B142: scanners make one series per random path elsewhere.
    #[test]
    fn requests_to_unknown_sources_share_one_counter() {
        let known: SourceName = "github".parse().unwrap();
        let tally = Tally::of([&known]);
        let before = tally.to_prometheus().lines().count();
        for number in 0..1_000 {
            tally.count(Some(&format!("s{number}").parse().unwrap()), Turnout::Accepted);
            tally.count(None, Turnout::UnknownSource);
        }
        tally.count(Some(&known), Turnout::Accepted);
        assert_eq!(tally.to_prometheus().lines().count(), before);
        assert_eq!(tally.counted(&known, Turnout::Accepted), 1);
        assert!(tally.to_prometheus().contains("turnout=\"unknown_source\"} 2000\n"));
    }
}
