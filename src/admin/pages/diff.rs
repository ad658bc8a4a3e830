//! Two payloads side by side, line by line: what is the same, what only one has. Bounded in size and time.

use similar::{ChangeTag, TextDiff};

use super::payload::pretty;

/// Lines of each side that are compared: a person reads no more.
const LINES_MAX: usize = 2_000;

/// Lines around a difference that are shown with it.
const CONTEXT_LINES: usize = 3;

/// Letters of a line that are shown.
const LINE_LETTERS_MAX: usize = 400;

/// How long looking for the smallest difference may take; afterwards a larger one will do.
const TIME_MAX: std::time::Duration = std::time::Duration::from_millis(200);

/// One row: the line of the first, and the line of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) first: Option<(usize, String)>,
    pub(super) other: Option<(usize, String)>,
    /// Whether the two sides are the same here.
    pub(super) is_same: bool,
    /// Whether lines were left out above this one.
    pub(super) is_gap: bool,
}

/// The comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) rows: Vec<Row>,
    pub(super) removed: usize,
    pub(super) added: usize,
    /// Whether one of them was longer than what was compared.
    pub(super) is_cut: bool,
}

/// Compares two bodies as they are shown: JSON indented, so that a changed member is a changed line.
pub(super) fn compare(first: &[u8], other: &[u8]) -> Comparison {
    let (first, other) = (pretty(first), pretty(other));
    let cut = |text: &str| text.lines().take(LINES_MAX).collect::<Vec<_>>().join("\n") + "\n";
    let is_longer = |text: &str| text.lines().nth(LINES_MAX).is_some();
    let is_cut = first.is_cut || other.is_cut || is_longer(&first.text) || is_longer(&other.text);
    let (first, other) = (cut(&first.text), cut(&other.text));
    let mut config = TextDiff::configure();
    config.timeout(TIME_MAX);
    let diff = config.diff_lines(first.as_str(), other.as_str());
    let mut comparison = Comparison { is_cut, ..Comparison::default() };
    for (place, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        let from = comparison.rows.len();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            comparison.add(change.tag(), change.old_index(), change.new_index(), change.value());
        }
        if let Some(row) = comparison.rows.get_mut(from) {
            row.is_gap = place > 0 || row.first.as_ref().is_some_and(|(number, _)| *number > 1);
        }
    }
    comparison
}

impl Comparison {
    fn add(&mut self, tag: ChangeTag, old: Option<usize>, new: Option<usize>, text: &str) {
        let side = |at: Option<usize>| {
            at.map(|at| (at + 1, crate::cli::visible::cut(text.trim_end_matches('\n'), LINE_LETTERS_MAX)))
        };
        match tag {
            ChangeTag::Equal => {
                self.rows.push(Row { first: side(old), other: side(new), is_same: true, is_gap: false });
            }
            ChangeTag::Delete => {
                self.removed += 1;
                self.rows.push(Row { first: side(old), other: None, is_same: false, is_gap: false });
            }
            ChangeTag::Insert => {
                self.added += 1;
                // Beside the first removed line that has nothing beside it yet.
                let from = self.rows.iter().rposition(|row| row.other.is_some()).map_or(0, |at| at + 1);
                match self.rows[from..].iter_mut().find(|row| row.other.is_none()) {
                    Some(row) => row.other = side(new),
                    None => self.rows.push(Row { first: None, other: side(new), is_same: false, is_gap: false }),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(comparison: &Comparison) -> Vec<String> {
        let side = |side: &Option<(usize, String)>| {
            side.as_ref().map_or(String::new(), |(n, text)| format!("{n} {}", text.trim()))
        };
        comparison.rows.iter().map(|row| format!("{} | {}", side(&row.first), side(&row.other))).collect()
    }

    #[test]
    fn a_changed_member_stands_beside_what_it_was() {
        let comparison = compare(br#"{"a":1,"b":[1,2],"c":3}"#, br#"{"a":1,"b":[1,5,6],"c":3}"#);
        assert_eq!(
            shown(&comparison),
            [
                "2 \"a\": 1, | 2 \"a\": 1,",
                "3 \"b\": [ | 3 \"b\": [",
                "4 1, | 4 1,",
                "5 2 | 5 5,",
                " | 6 6",
                "6 ], | 7 ],",
                "7 \"c\": 3 | 8 \"c\": 3",
                "8 } | 9 }",
            ]
        );
        assert_eq!((comparison.removed, comparison.added), (1, 2));
    }

    #[test]
    fn what_is_far_from_a_difference_is_left_out() {
        let numbers: Vec<u32> = (0..100).collect();
        let mut others = numbers.clone();
        others[50] = 5_000;
        let json = |numbers: &[u32]| serde_json::to_vec(numbers).unwrap();
        let comparison = compare(&json(&numbers), &json(&others));
        assert_eq!(comparison.rows.len(), 2 * CONTEXT_LINES + 1);
        assert!(comparison.rows[0].is_gap);
        assert!(compare(b"same", b"same").rows.is_empty());
    }

    #[test]
    fn large_payloads_are_compared_in_bounds() {
        let (one, two) = (format!("[{}0]", "1,".repeat(200_000)), format!("[{}0]", "2,".repeat(200_000)));
        let comparison = compare(one.as_bytes(), two.as_bytes());
        assert!(comparison.is_cut && comparison.rows.len() <= 2 * LINES_MAX);
    }
}
