//! The times as Prometheus histograms: few buckets, counted since the start of the process.

use std::time::Duration;

use super::{Figures, Kind};

/// Upper bounds in seconds, for answers.
const ANSWER: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Upper bounds in seconds, from the receipt to the delivery's success: a retry may take an hour.
const DONE: [f64; 12] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 1_800.0, 3_600.0, 86_400.0];

/// Counts below each bound of its kind.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    below: [u64; 12],
    sum: f64,
    count: u64,
}

impl Kind {
    fn bounds(self) -> &'static [f64; 12] {
        match self {
            Self::Source => &ANSWER,
            Self::Destination => &DONE,
        }
    }
}

impl Buckets {
    pub(super) fn add(&mut self, kind: Kind, took: Duration) {
        let seconds = took.as_secs_f64();
        (self.sum, self.count) = (self.sum + seconds, self.count + 1);
        let reached = self.below.iter_mut().zip(kind.bounds()).filter(|(_, bound)| seconds <= **bound);
        reached.for_each(|(below, _)| *below += 1);
    }
}

impl Figures {
    /// `oncehook_answer_seconds` and `oncehook_done_seconds`.
    #[must_use]
    pub fn to_prometheus(&self) -> String {
        let answer = ("oncehook_answer_seconds", "From the first byte to the answer, of requests that were recorded.");
        let done = ("oncehook_done_seconds", "From the receipt to the delivery's success.");
        self.histograms(Kind::Source, "source", answer) + &self.histograms(Kind::Destination, "destination", done)
    }

    fn histograms(&self, kind: Kind, label: &str, (name, help): (&str, &str)) -> String {
        let counted = self.counted();
        let mut text = format!("# HELP {name} {help}\n# TYPE {name} histogram\n");
        for (of, buckets) in counted.since_start.get(&kind).into_iter().flatten() {
            let Buckets { below, sum, count } = buckets;
            for (bound, below) in kind.bounds().iter().zip(below) {
                text.push_str(&format!("{name}_bucket{{{label}=\"{of}\",le=\"{bound}\"}} {below}\n"));
            }
            text.push_str(&format!("{name}_bucket{{{label}=\"{of}\",le=\"+Inf\"}} {count}\n"));
            text.push_str(&format!("{name}_sum{{{label}=\"{of}\"}} {sum}\n"));
            text.push_str(&format!("{name}_count{{{label}=\"{of}\"}} {count}\n"));
        }
        text
    }
}
