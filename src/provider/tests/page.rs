//! docs/providers.md tells what the tables say.

use std::fmt::Write as _;

use super::super::{github::events::EVENTS, history::Step, stripe, subject::EventRow};

const PAGE: &str = include_str!("../../../docs/providers.md");

fn line(row: &EventRow) -> String {
    let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
    let times: Vec<String> = row.times.iter().map(|path| format!("`{path}`")).collect();
    let or_none = |list: Vec<String>| if list.is_empty() { "none".to_owned() } else { list.join(", else ") };
    format!("| `{}` | {} | {} |", row.name, or_none(keys), or_none(times))
}

fn table<'r>(rows: impl IntoIterator<Item = &'r EventRow>) -> String {
    let mut table = "| event | ordering key | event time |\n|---|---|---|\n".to_owned();
    for row in rows {
        writeln!(table, "{}", line(row)).unwrap();
    }
    table
}

#[test]
fn the_page_of_providers_says_what_the_tables_say() {
    for table in [table(EVENTS), table([&stripe::EVENT])] {
        assert!(PAGE.contains(&table), "docs/providers.md is behind; put this into it:\n{table}");
    }
}

const ORDERING: &str = include_str!("../../../docs/ordering.md");

/// What the page about order says of an event's version.
fn version_line(row: &EventRow) -> String {
    if row.version.is_empty() || row.times.is_empty() {
        let why = if row.times.is_empty() { "by arrival: it has no time" } else { "never stale" };
        return format!("| `{}` | {why} |", row.name);
    }
    let mut parts = vec![format!("`{}`", row.scale().replace(", ", "`, `").replace(" or ", "` or `"))];
    for step in row.version {
        match step {
            Step::Chain(from, to) => parts.insert(0, format!("`{from}` → `{to}`")),
            Step::Of(path) => parts.push(format!("of each `{path}`")),
            Step::Time | Step::Number(_) | Step::Status(_) | Step::Deleted => {}
        }
    }
    format!("| `{}` | {} |", row.name, parts.join(", "))
}

#[test]
fn the_page_of_order_says_what_is_compared() {
    let mut table = "| event of GitHub | compared |\n|---|---|\n".to_owned();
    for row in EVENTS {
        writeln!(table, "{}", version_line(row)).unwrap();
    }
    assert!(ORDERING.contains(&table), "docs/ordering.md is behind; put this into it:\n{table}");
    for other in [
        "| Stripe | `created`, then the states before and after |",
        "| Standard Webhooks | `timestamp`, of each `data.id` and type up to its last full stop |",
    ] {
        assert!(ORDERING.contains(other), "{other}");
    }
}

#[test]
fn the_table_of_events_is_sorted_and_names_each_once() {
    assert!(EVENTS.is_sorted_by(|one, other| one.name < other.name));
    assert!(EVENTS.len() >= 75, "GitHub's description lists 75 events");
}
