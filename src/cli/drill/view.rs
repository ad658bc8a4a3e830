//! What a drill found, for people. Pure.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::{
    cli::{output::table, visible::Visible},
    drill::{Load, Played, Progress, Report, Waits},
};

/// A line while it runs.
pub(super) fn progress(progress: &Progress<'_>) -> String {
    match progress {
        Progress::Step(text) => format!("-- {text}"),
        Progress::Scene(Played { name, passed, seen }) => format!("{}  {name}: {}", word(*passed), Visible(seen)),
    }
}

/// The end.
pub(super) fn report(report: &Report) -> String {
    let figures = figures(&report.load).into_iter().map(|(what, figure)| vec![what.to_owned(), figure]).collect();
    let mut text = format!("\n{}\n\n", table(&["LOAD", ""], figures));
    let checks = report.checks.iter().map(|check| {
        let (first, _) = check.detail.split_once('\n').unwrap_or((&check.detail, ""));
        vec![check.name.clone(), word(check.passed).to_owned(), Visible(first).to_string()]
    });
    let _ = writeln!(text, "{}\n", table(&["CHECK", "", ""], checks.collect()));
    for check in report.checks.iter().filter(|check| !check.passed) {
        let _ = writeln!(text, "FAIL  {}", check.name);
        for line in check.detail.lines() {
            let _ = writeln!(text, "      {}", Visible(line));
        }
        text.push('\n');
    }
    let failed = report.scenes.iter().filter(|scene| !scene.passed).map(|scene| scene.name);
    for name in failed {
        let _ = writeln!(text, "FAIL  scene: {name}\n");
    }
    if let Some(control) = report.control {
        let red: Vec<_> = report.checks.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect();
        let red = if red.is_empty() { "nothing went red".to_owned() } else { format!("went red: {}", red.join(", ")) };
        let _ = writeln!(text, "control {control}: {red}\n");
    }
    let _ = writeln!(text, "seed    {}", report.seed);
    if let Some(home) = &report.home {
        let _ = writeln!(text, "folder  {home}\nrepeat  {}", report.repeat);
    }
    text.push_str(report.verdict);
    text
}

fn word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

fn figures(load: &Load) -> Vec<(&'static str, String)> {
    let (sent, stored, recovery) = (&load.sent, &load.stored, &load.recovery);
    let effects: Vec<String> = (load.effects.iter())
        .map(|(sink, of)| format!("{sink} {} of {} deliveries, in {} calls", of.effects, of.deliveries, of.calls))
        .collect();
    let drained = load.drained_in_ms.map_or("not within 60 s".to_owned(), |ms| seconds(i64::try_from(ms).ok()));
    vec![
        ("load", format!("{:.0} s, {:.0} deliveries/s", load.seconds, load.deliveries_per_second)),
        ("sent", format!("{} requests: {}", sent.sent, listed(&sent.variants))),
        ("answered", listed(&sent.answers)),
        ("letters", format!("{} acknowledged, {} refused, {} unknown", sent.acknowledged, sent.refused, sent.unknown)),
        ("receipts", stored.receipts.to_string()),
        ("arrivals", format!("{}; {} payloads kept as conflicts", listed(&stored.arrivals), stored.conflicts)),
        ("deliveries", format!("{}; {} attempts", listed(&stored.deliveries), stored.attempts)),
        ("effects", effects.join("; ")),
        ("faults", listed(&load.faults)),
        ("drained", format!("{drained} after the load")),
        (
            "recovery",
            format!(
                "after kill -9 of a worker: {}; with the database up all the time: {}",
                waits(&recovery.all),
                waits(&recovery.database_up)
            ),
        ),
    ]
}

fn waits(waits: &Waits) -> String {
    format!("{} deliveries, p50 {}, p99 {}", waits.count, seconds(waits.p50_ms), seconds(waits.p99_ms))
}

/// Whole milliseconds as seconds.
fn seconds(ms: Option<i64>) -> String {
    ms.map_or("-".to_owned(), |ms| format!("{}.{:02} s", ms / 1_000, ms % 1_000 / 10))
}

fn listed<W: std::fmt::Display, N: std::fmt::Display>(counts: &BTreeMap<W, N>) -> String {
    let counts: Vec<_> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}
