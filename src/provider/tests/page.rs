//! docs/providers.md tells what the tables say.

use std::fmt::Write as _;

use super::super::{github::events::EVENTS, stripe, subject::EventRow};

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

#[test]
fn the_table_of_events_is_sorted_and_names_each_once() {
    assert!(EVENTS.is_sorted_by(|one, other| one.name < other.name));
    assert!(EVENTS.len() >= 75, "GitHub's description lists 75 events");
}
