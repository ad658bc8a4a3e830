//! Staleness: whether an event is older than what its lane has applied, and why. The same as `oncehook.is_stale` in SQL,
//! which decides; this explains.

use chrono::{DateTime, Utc};

use super::{
    ReceiptId, Version,
    version::{Measure, Part, short_state},
};

/// What shows that an event is older.
enum Evidence<'a> {
    /// It leads to a state from which the applied one goes on.
    Chain(&'a str),
    /// Its first number that differs is smaller; `None` where it has fewer numbers.
    Numbers(Option<(Part<'a>, Part<'a>)>),
}

/// Whether `new` is older than `applied`.
///
/// The chain decides where one is the other's direct successor, and not both at
/// once, and the numbers do; all within one scale. Equal is never stale, and what cannot be compared is not. An event
/// without version never is.
// Invariant: oncehook.is_stale says the same; tests/it/ordering_versions.rs compares them.
#[must_use]
pub fn is_stale(new: &Version, applied: &Version) -> bool {
    evidence(new, applied).is_some()
}

/// Why `new` is stale against `applied`, of the receipt `by`, in a sentence; `None` when it is not. Both are hostile text.
#[must_use]
pub fn why_stale(new: &Version, applied: &Version, by: ReceiptId) -> Option<String> {
    Some(match evidence(new, applied)? {
        Evidence::Chain(state) => format!("stale: it leads to {}, from which {by} went on", short_state(state)),
        Evidence::Numbers(Some((its, other))) => {
            let (older, newer) = in_words(its, other);
            let comparison = match its.measure() {
                Measure::Time => "is older than",
                Measure::Status | Measure::Action | Measure::Number => "comes before",
            };
            format!("stale: {} {older} {comparison} {newer} applied by {by}", its.name)
        }
        Evidence::Numbers(None) => format!("stale: its version comes before that applied by {by}"),
    })
}

fn evidence<'a>(its: &'a Version, other: &'a Version) -> Option<Evidence<'a>> {
    if its.scale != other.scale {
        return None;
    }
    let by_numbers = || numbers(its, other);
    match its.chain.as_ref() {
        Some(chain) if chain.is_first => link(its, other).unwrap_or_else(by_numbers),
        _ if its.parts == other.parts => link(its, other).flatten(),
        _ => by_numbers(),
    }
}

/// What the chain says: nothing, that `its` is the later one (`Some(None)`), or that it is the earlier one.
fn link<'a>(its: &'a Version, other: &'a Version) -> Option<Option<Evidence<'a>>> {
    let (its, other) = (its.chain.as_ref()?, other.chain.as_ref()?);
    let joins = |to: &Option<String>, from: &Option<String>| to.is_some() && to == from;
    match (joins(&other.to, &its.from), joins(&its.to, &other.from)) {
        (true, false) => Some(None),
        (false, true) => Some(its.to.as_deref().map(Evidence::Chain)),
        // Neither, or a state that came back: A to B, then B to A.
        _ => None,
    }
}

fn numbers<'a>(its: &'a Version, other: &'a Version) -> Option<Evidence<'a>> {
    let differ = its.parts().zip(other.parts()).find(|(its, other)| its.value != other.value);
    (its.parts < other.parts).then_some(Evidence::Numbers(differ))
}

fn in_words(its: Part<'_>, other: Part<'_>) -> (String, String) {
    if its.measure() == Measure::Time
        && let (Some(one), Some(two)) =
            (DateTime::from_timestamp_micros(its.value), DateTime::from_timestamp_micros(other.value))
    {
        return times(one, two);
    }
    (its.in_words(), other.in_words())
}

/// Two times, by as much as tells them apart: those of one day by their clock alone.
fn times(one: DateTime<Utc>, two: DateTime<Utc>) -> (String, String) {
    let is_same_day = one.date_naive() == two.date_naive();
    let format = if is_same_day { "%H:%M:%S%.f" } else { "%Y-%m-%d %H:%M:%S%.f" };
    (one.format(format).to_string(), two.format(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Chain;

    const TEN: i64 = 1_767_607_200_000_000;

    fn receipt() -> ReceiptId {
        "rcp_01ke6vafet00000000000000r1".parse().unwrap()
    }

    fn version(scale: &'static str, parts: &[i64], chain: Option<(&str, &str)>, is_first: bool) -> Version {
        let chain = chain.map(|(from, to)| Chain { from: Some(from.into()), to: Some(to.into()), is_first });
        Version { scale: scale.into(), parts: parts.to_vec(), chain }
    }

    fn why(new: &Version, applied: &Version) -> String {
        why_stale(new, applied, receipt()).unwrap_or_default()
    }

    #[test]
    fn an_older_time_is_told_by_its_clock_or_with_its_day() {
        let issue = |micros| version("issue.updated_at, action", &[micros, 0], None, false);
        insta::assert_snapshot!(why(&issue(TEN), &issue(TEN + 2_000_000)), @"stale: issue.updated_at 10:00:00 is older than 10:00:02 applied by rcp_01ke6vafet00000000000000r1");
        insta::assert_snapshot!(why(&issue(TEN), &issue(TEN + 86_400_000_500)), @"stale: issue.updated_at 2026-01-05 10:00:00 is older than 2026-01-06 10:00:00.000500 applied by rcp_01ke6vafet00000000000000r1");
        assert_eq!(why(&issue(TEN), &issue(TEN)), "", "equal is never stale");
        assert_eq!(why(&issue(TEN + 1), &issue(TEN)), "");
    }

    #[test]
    fn an_earlier_attempt_and_an_earlier_status_are_told() {
        let scale = "workflow_run.run_attempt, workflow_run.status, workflow_run.updated_at";
        let run = |attempt, status, time| version(scale, &[attempt, status, time], None, false);
        insta::assert_snapshot!(why(&run(1, 2, TEN + 9), &run(2, 0, TEN)), @"stale: workflow_run.run_attempt 1 comes before 2 applied by rcp_01ke6vafet00000000000000r1");
        insta::assert_snapshot!(why(&run(1, 0, TEN + 9), &run(1, 2, TEN)), @"stale: workflow_run.status not begun comes before completed applied by rcp_01ke6vafet00000000000000r1");
        assert_eq!(why(&run(2, 0, TEN), &run(1, 2, TEN + 9)), "");
    }

    #[test]
    fn a_chain_that_comes_first_decides_before_the_time_and_one_that_comes_last_after_it() {
        let push = |from, to, time| version("repository.pushed_at", &[time], Some((from, to)), true);
        insta::assert_snapshot!(why(&push("aaaa", "bbbbbbbbbbbbbbbbbbbb", TEN + 9), &push("bbbbbbbbbbbbbbbbbbbb", "cccc", TEN)), @"stale: it leads to bbbbbbbbbbbb, from which rcp_01ke6vafet00000000000000r1 went on");
        assert_eq!(why(&push("b", "c", TEN), &push("a", "b", TEN + 9)), "", "a successor is newer whatever its time");
        let update = |from, to, time| version("created", &[time], Some((from, to)), false);
        assert_ne!(why(&update("a", "b", TEN), &update("b", "c", TEN)), "");
        assert_eq!(why(&update("a", "b", TEN + 9), &update("b", "c", TEN)), "", "its time is later");
    }

    #[test]
    fn a_state_that_comes_back_is_decided_by_time() {
        let push = |from, to, time| version("repository.pushed_at", &[time], Some((from, to)), true);
        assert_ne!(why(&push("a", "b", TEN), &push("b", "a", TEN + 1)), "");
        assert_eq!(why(&push("a", "b", TEN + 2), &push("b", "a", TEN + 1)), "");
        assert_eq!(why(&push("a", "b", TEN), &push("b", "a", TEN)), "", "within one second nothing tells");
    }

    #[test]
    fn versions_of_different_scales_are_not_compared() {
        let comment = |scale, micros| version(scale, &[micros], None, false);
        assert!(!is_stale(&comment("comment.updated_at of 1", TEN), &comment("comment.updated_at of 2", TEN + 1)));
        assert!(is_stale(&comment("comment.updated_at of 1", TEN), &comment("comment.updated_at of 1", TEN + 1)));
    }
}
