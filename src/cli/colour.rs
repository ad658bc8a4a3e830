//! Colours for people at a terminal: what is well, what waits, what is broken. Never the only sign: the word stands there too.

use std::io::IsTerminal as _;

use crate::domain::DeliveryState;

/// How a word is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// All is well.
    Good,
    /// It waits, or needs a look.
    Waiting,
    /// It is broken.
    Bad,
    /// It does not matter any more.
    Faint,
    /// It is what the eye should find first.
    Strong,
    /// As everything else.
    Plain,
}

/// Whether to paint at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    is_on: bool,
}

impl Palette {
    /// Paints nothing: for files, pipes and scripts.
    #[must_use]
    pub fn plain() -> Self {
        Self { is_on: false }
    }

    /// Paints if standard output is a terminal that can, and nobody forbids it (<https://no-color.org>).
    #[must_use]
    pub fn of_stdout() -> Self {
        Self { is_on: std::io::stdout().is_terminal() && is_wanted(variable("NO_COLOR"), variable("TERM")) }
    }

    #[cfg(test)]
    pub(super) fn always() -> Self {
        Self { is_on: true }
    }

    /// The text in its colour. It must be safe for a terminal already.
    #[must_use]
    pub fn paint(self, paint: Paint, text: &str) -> String {
        match paint.code() {
            Some(code) if self.is_on && !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    /// A state in its colour.
    #[must_use]
    pub fn state(self, state: DeliveryState) -> String {
        self.paint(Paint::of_state(state), state.as_str())
    }

    /// Paints the cells of one column in a table that [`table`](super::output::table) has laid out. Each row is one line of it, below
    /// its header.
    #[must_use]
    pub fn column(self, table: &str, rows: &[Vec<String>], column: usize, paint: impl Fn(&str) -> Paint) -> String {
        if !self.is_on {
            return table.to_owned();
        }
        let paint_line = |(number, line): (usize, &str)| {
            let row = number.checked_sub(1).and_then(|number| rows.get(number));
            let place = row.and_then(|row| Some((place_of(line, row, column)?, row[column].trim())));
            match place {
                Some((at, cell)) => {
                    let (before, rest) = line.split_at(at);
                    format!("{before}{}{}", self.paint(paint(cell), cell), &rest[cell.len()..])
                }
                None => line.to_owned(),
            }
        };
        table.lines().enumerate().map(paint_line).collect::<Vec<_>>().join("\n")
    }
}

/// Where a cell's text begins in the line of its row: behind the cells before it, which are padded with blanks.
fn place_of(line: &str, row: &[String], column: usize) -> Option<usize> {
    let mut at = 0;
    for (number, cell) in row.iter().enumerate() {
        at += line[at..].len() - line[at..].trim_start_matches(' ').len();
        let cell = cell.trim();
        if !line[at..].starts_with(cell) {
            return None;
        }
        if number == column {
            return Some(at);
        }
        at += cell.len();
    }
    None
}

impl Paint {
    /// The colour of a state.
    #[must_use]
    pub fn of_state(state: DeliveryState) -> Self {
        match state {
            DeliveryState::Succeeded => Self::Good,
            DeliveryState::Waiting | DeliveryState::Queued | DeliveryState::Running => Self::Plain,
            DeliveryState::Retrying => Self::Waiting,
            DeliveryState::Dead => Self::Bad,
            DeliveryState::Skipped | DeliveryState::Cancelled => Self::Faint,
        }
    }

    /// The colour of a word that may be a state, or several with their numbers: the worst of them.
    #[must_use]
    pub fn of_states(text: &str) -> Self {
        let states: Vec<DeliveryState> =
            text.split([' ', ',']).filter_map(|word| word.parse::<DeliveryState>().ok()).collect();
        let paints: Vec<Self> = states.into_iter().map(Self::of_state).collect();
        let worst = [Self::Bad, Self::Waiting, Self::Plain, Self::Good, Self::Faint];
        worst.into_iter().find(|paint| paints.contains(paint)).unwrap_or(Self::Plain)
    }

    /// The parameter of "select graphic rendition": the terminal's own 16 colours, which its user has chosen.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Good => Some("32"),
            Self::Waiting => Some("33"),
            Self::Bad => Some("31"),
            Self::Faint => Some("2"),
            Self::Strong => Some("1"),
            Self::Plain => None,
        }
    }
}

/// Whether a terminal with these variables wants colours. An empty `NO_COLOR` is none.
fn is_wanted(no_color: Option<String>, term: Option<String>) -> bool {
    no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|term| term != "dumb")
}

#[expect(clippy::disallowed_methods, reason = "about the terminal and no setting of the appliance")]
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Whether progress can be drawn on standard error.
#[must_use]
pub fn can_draw_progress() -> bool {
    std::io::stderr().is_terminal() && variable("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::table;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let some = |text: &str| Some(text.to_owned());
        assert!(is_wanted(None, some("xterm")) && is_wanted(some(""), None));
        assert!(!is_wanted(some("1"), some("xterm")) && !is_wanted(None, some("dumb")));
        assert_eq!(Palette::plain().state(DeliveryState::Dead), "dead");
        assert_eq!(Palette::always().state(DeliveryState::Dead), "\u{1b}[31mdead\u{1b}[0m");
    }

    #[test]
    fn a_column_is_painted_and_nothing_moves() {
        let rows = vec![
            vec!["日本".to_owned(), String::new(), "1 dead, 2 succeeded".to_owned(), "dead".to_owned()],
            vec!["dead".to_owned(), " x".to_owned(), "succeeded".to_owned(), "é".to_owned()],
        ];
        let plain = table(&["a", "b", "state", "d"], rows.clone());
        let painted = Palette::always().column(&plain, &rows, 2, Paint::of_states);
        let bare = painted.replace("\u{1b}[31m", "").replace("\u{1b}[32m", "").replace("\u{1b}[0m", "");
        assert_eq!(bare, plain);
        assert!(painted.contains("\u{1b}[31m1 dead, 2 succeeded\u{1b}[0m"), "{painted}");
        assert!(painted.contains("\u{1b}[32msucceeded\u{1b}[0m"), "{painted}");
        assert_eq!(painted.matches('\u{1b}').count(), 4, "{painted}");
        assert_eq!(Palette::plain().column(&plain, &rows, 2, Paint::of_states), plain);
    }
}
