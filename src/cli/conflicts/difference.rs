//! Takes two payloads and gives what differs, line by line, safe for a terminal: JSON indented alike first, so that only values count.
//! Bounded in lines and in time. Pure.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::cli::{
    colour::{Paint, Palette},
    payload_view::all_lines,
};

/// Equal lines around each difference.
const CONTEXT_LINES: usize = 3;

/// Lines of a difference that are shown; `conflicts show --json` has both payloads whole.
const LINES_MAX: usize = 400;

/// How long to look for the smallest difference. After that a larger one is good enough.
const TIME_MAX: Duration = Duration::from_millis(500);

/// The lines: `  same`, `- only first`, `+ only other`, `…` between places that are far apart.
pub(super) fn difference(first: &[u8], other: &[u8], palette: Palette) -> Vec<String> {
    let (first, other) = (all_lines(first), all_lines(other));
    let old: Vec<&str> = first.iter().map(String::as_str).collect();
    let new: Vec<&str> = other.iter().map(String::as_str).collect();
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_slices(&old, &new);
    let mut lines = Vec::new();
    for (number, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if number > 0 {
            lines.push("…".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            lines.push(match change.tag() {
                ChangeTag::Equal => format!("  {}", change.value()),
                ChangeTag::Delete => palette.paint(Paint::Bad, &format!("- {}", change.value())),
                ChangeTag::Insert => palette.paint(Paint::Good, &format!("+ {}", change.value())),
            });
        }
    }
    if lines.is_empty() {
        lines.push("they differ in white space only, or beyond what is compared here".to_owned());
    }
    if lines.len() > LINES_MAX {
        let left_out = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("… {left_out} more lines: --json has both payloads whole"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_with_what_is_around_it() {
        let json = |n: usize, m: usize| {
            let members: Vec<_> = (0..40)
                .map(|i| {
                    format!(
                        "\"k{i}\":{}",
                        if i == 3 {
                            n
                        } else if i == 30 {
                            m
                        } else {
                            i
                        }
                    )
                })
                .collect();
            format!("{{{}}}", members.join(","))
        };
        let lines = difference(json(3, 30).as_bytes(), json(333, 333).as_bytes(), Palette::plain());
        assert_eq!(lines.iter().filter(|line| line.starts_with(['-', '+'])).count(), 4, "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| *line == "…").count(), 1);
        assert_eq!(lines.len(), 4 + 4 * CONTEXT_LINES + 1);
    }

    #[test]
    fn equal_and_huge_payloads_have_a_short_answer() {
        assert!(difference(b"{\"a\": 1}", b"{\"a\":1}\n", Palette::plain())[0].contains("white space only"));
        let huge = |n: usize| (n..n + 5_000).map(|i| format!("{i}\n")).collect::<String>();
        let lines = difference(huge(0).as_bytes(), huge(100_000).as_bytes(), Palette::plain());
        assert_eq!(lines.len(), LINES_MAX + 1);
    }
}
