//! Takes finished text or a value and writes it to standard output. A reader that has gone away (`| head`) is no error.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use comfy_table::{ContentArrangement, Table, presets};

/// How wide a table may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Fit the terminal, breaking cells.
    Terminal,
    /// As wide as its cells: for files, pipes and tests.
    Unbounded,
}

impl Width {
    /// What suits standard output.
    #[must_use]
    pub fn of_stdout() -> Self {
        if io::stdout().is_terminal() { Self::Terminal } else { Self::Unbounded }
    }
}

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
/// As [`print`].
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value).context("failed to write JSON")?)
}

/// Writes bytes as they are.
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("failed to write to standard output"),
    }
}

/// A table without lines. The cells must be safe for a terminal already.
#[must_use]
pub fn table(header: &[&str], rows: Vec<Vec<String>>, width: Width) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table.set_content_arrangement(match width {
        Width::Terminal => ContentArrangement::Dynamic,
        Width::Unbounded => ContentArrangement::Disabled,
    });
    table.add_rows(rows);
    let lines: Vec<String> =
        table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// `1 delivery`, `2 deliveries`.
#[must_use]
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
