//! The overview's plots: which figures go into which drawing.

use super::{
    overview::{REJECTIONS, times},
    plot::{Plot, Strand},
};
use crate::operate::{Latency, Series, Stats, StatsPoint};

/// What came in, what went out, and how long both took.
pub(super) fn plots(stats: &Stats) -> Vec<Plot> {
    let (total, times) = (&stats.total, times(&stats.total));
    let rejections: Vec<&str> = REJECTIONS.iter().map(|(word, _)| *word).collect();
    vec![
        Plot::bars(
            "requests",
            "Requests",
            &times,
            vec![
                counts(total, "accepted", "plot-good", &["accepted"]),
                counts(total, "duplicate", "plot-calm", &["duplicate"]),
                counts(total, "conflict", "plot-warn", &["conflict"]),
                counts(total, "rejected", "plot-bad", &rejections),
            ],
        ),
        Plot::bars(
            "attempts",
            "Attempts at destinations",
            &times,
            vec![
                counts(total, "succeeded", "plot-good", &["succeeded"]),
                counts(total, "failed, tried again", "plot-warn", &["failed", "unknown"]),
                counts(total, "rejected for good", "plot-bad", &["rejected"]),
            ],
        ),
        latencies("answer", "Answer: first byte to answer", total, |point| point.answer),
        latencies("done", "Done: receipt to success", total, |point| point.done),
    ]
}

fn counts(series: &Series, name: &'static str, class: &'static str, words: &[&str]) -> Strand {
    let sum = |point: &StatsPoint| words.iter().filter_map(|word| point.counts.get(*word)).sum::<i64>();
    #[expect(clippy::cast_precision_loss, reason = "a drawing is good to a pixel")]
    let values = series.points.iter().map(|point| Some(sum(point) as f64)).collect();
    Strand { name, class, values }
}

fn latencies(id: &'static str, title: &'static str, series: &Series, of: impl Fn(&StatsPoint) -> Latency) -> Plot {
    let strand = |name, class, pick: fn(Latency) -> Option<f64>| Strand {
        name,
        class,
        values: series.points.iter().map(|point| pick(of(point))).collect(),
    };
    let strands =
        vec![strand("p99", "plot-p99", |latency| latency.p99_ms), strand("p50", "plot-p50", |latency| latency.p50_ms)];
    Plot::lines(id, title, &times(series), strands)
}
