//! Takes finished text or a value and writes it to standard output. A reader that has gone away (`| head`) is no error.

use std::io::{self, Write as _};

use anyhow::Context as _;
use comfy_table::{ContentArrangement, Table, presets};

/// Writes text and a line feed.
///
/// # Errors
/// When standard output takes no more, unless its reader has gone away.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
}

/// Writes a value as JSON, indented, and a line feed.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value).context("failed to write JSON")?)
}

/// Writes bytes as they are.
///
/// # Errors
/// As [`print()`].
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    write_out(bytes).map(drop)
}

/// Writes a line at once. False: its reader has gone away, and whoever has more to say may stop.
///
/// # Errors
/// As [`print()`].
pub fn write_line(line: &str) -> anyhow::Result<bool> {
    write_out(format!("{line}\n").as_bytes())
}

fn write_out(bytes: &[u8]) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context("failed to write to standard output"),
    }
}

/// A table without lines. Cells are never broken, so that what is copied from one is whole; where a terminal is too narrow,
/// it wraps the line. They must be safe for a terminal already.
#[must_use]
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec()).add_rows(rows);
    let lines: Vec<String> =
        table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// `1 delivery`, `2 deliveries`.
#[must_use]
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
