//! From sums to lines of figures without gaps. Pure: takes a question and rows, gives points and quantiles.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Latency, OperateError, Result, Series, StatsPoint, StatsQuery};
use crate::{figures::Histogram, store::figure_sums::FigureSum};

/// The longest range: what is older is pruned.
const DAYS_MAX: i64 = 31;

const POINTS: u32 = 60;
const POINTS_MAX: u32 = 500;

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;

/// The range that is answered: whole steps, each of whole minutes or whole hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) since: DateTime<Utc>,
    pub(super) until: DateTime<Utc>,
    pub(super) step_seconds: i64,
    pub(super) steps: usize,
}

impl Range {
    /// Rounds what was asked for: it is covered whole.
    pub(super) fn of(query: &StatsQuery, now: DateTime<Utc>) -> Result<Self> {
        let until = query.until.unwrap_or(now);
        let since = query.since.unwrap_or(until - TimeDelta::hours(1));
        let points = query.points.unwrap_or(POINTS);
        if !(1..=POINTS_MAX).contains(&points) {
            return Err(invalid("points", format!("{points} points"), format!("ask for 1 to {POINTS_MAX}")));
        }
        if since >= until {
            let problem = format!("{since} is not before {until}");
            return Err(invalid("since", problem, "give a time before `until`, which is now by default".to_owned()));
        }
        if until - since > TimeDelta::days(DAYS_MAX) {
            let problem = format!("from {since} to {until} is more than {DAYS_MAX} days");
            return Err(invalid("since", problem, "ask for a shorter range: older figures are deleted".to_owned()));
        }
        let seconds = (until - since).num_seconds().max(1);
        let minutes = divided_up(divided_up(seconds, MINUTE), i64::from(points));
        let step = if minutes * MINUTE < HOUR { minutes * MINUTE } else { divided_up(minutes * MINUTE, HOUR) * HOUR };
        let grain = if step < HOUR { MINUTE } else { HOUR };
        let begin = since.timestamp().div_euclid(grain) * grain;
        // The end of the range counts up to its last microsecond.
        let end = until.timestamp() + i64::from(until.timestamp_subsec_nanos() > 0);
        let steps = divided_up(end - begin, step);
        let time = |second| DateTime::from_timestamp(second, 0).unwrap_or(until);
        let (since, until) = (time(begin), time(begin + steps * step));
        Ok(Self { since, until, step_seconds: step, steps: usize::try_from(steps).unwrap_or_default() })
    }
}

fn divided_up(number: i64, by: i64) -> i64 {
    (number + by - 1).div_euclid(by)
}

fn invalid(field: &'static str, problem: String, instead: String) -> OperateError {
    OperateError::Invalid { field, problem, instead }
}

/// Lines of figures while sums are added.
pub(super) struct Board {
    range: Range,
    total: Building,
    sources: BTreeMap<String, Building>,
    destinations: BTreeMap<String, Building>,
}

/// One line while sums are added.
struct Building {
    points: Vec<StepFigures>,
}

#[derive(Debug, Clone, Default)]
struct StepFigures {
    counts: BTreeMap<String, i64>,
    answer: Histogram,
    done: Histogram,
}

impl Board {
    /// With a line for each of these names, whether anything was counted or not.
    pub(super) fn new<'a>(
        range: &Range,
        sources: impl Iterator<Item = &'a str>,
        destinations: impl Iterator<Item = &'a str>,
    ) -> Self {
        let empty = |name: &str| (name.to_owned(), Building::new(range.steps));
        Self {
            range: *range,
            total: Building::new(range.steps),
            sources: sources.map(empty).collect(),
            destinations: destinations.map(empty).collect(),
        }
    }

    pub(super) fn add(&mut self, sum: &FigureSum) {
        let Ok(step) = usize::try_from(sum.step) else { return };
        self.total.add(step, sum);
        // Requests to sources that do not exist have no line of their own.
        if sum.name.is_empty() {
            return;
        }
        let lines = if sum.is_source { &mut self.sources } else { &mut self.destinations };
        lines.entry(sum.name.clone()).or_insert_with(|| Building::new(self.range.steps)).add(step, sum);
    }

    /// The total, and the lines by source and by destination.
    pub(super) fn finish(self) -> (Series, BTreeMap<String, Series>, BTreeMap<String, Series>) {
        let range = self.range;
        let all = |lines: BTreeMap<String, Building>| {
            lines.into_iter().map(|(name, line)| (name, line.finish(&range))).collect()
        };
        (self.total.finish(&range), all(self.sources), all(self.destinations))
    }
}

impl Building {
    fn new(steps: usize) -> Self {
        Self { points: vec![StepFigures::default(); steps] }
    }

    fn add(&mut self, step: usize, sum: &FigureSum) {
        let Some(point) = self.points.get_mut(step) else { return };
        if !sum.is_time {
            *point.counts.entry(sum.what.clone()).or_default() += sum.count;
            return;
        }
        let times = if sum.is_source { &mut point.answer } else { &mut point.done };
        if let (Ok(bucket), Ok(count)) = (sum.what.parse(), sum.count.try_into()) {
            times.add_to(bucket, count);
        }
    }

    fn finish(self, range: &Range) -> Series {
        let mut whole = StepFigures::default();
        for point in &self.points {
            point.counts.iter().for_each(|(what, count)| *whole.counts.entry(what.clone()).or_default() += count);
            whole.answer.merge(&point.answer);
            whole.done.merge(&point.done);
        }
        let step = TimeDelta::seconds(range.step_seconds);
        let begins = std::iter::successors(Some(range.since), |at| Some(*at + step));
        let points = begins.zip(self.points).map(|(at, point)| StatsPoint {
            at,
            counts: point.counts,
            answer: Latency::of(&point.answer),
            done: Latency::of(&point.done),
        });
        let points = points.collect();
        let (answer, done) = (Latency::of(&whole.answer), Latency::of(&whole.done));
        Series { sums: whole.counts, answer, done, points }
    }
}

impl Latency {
    fn of(times: &Histogram) -> Self {
        // What is good to 10 % needs no more than three digits.
        let rounded = |ms: f64| if ms < 100.0 { (ms * 1_000.0).round() / 1_000.0 } else { ms.round() };
        let quantile = |share| times.quantile_ms(share).map(rounded);
        Self { p50_ms: quantile(0.5), p99_ms: quantile(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn range(since: &str, until: &str, points: u32) -> Range {
        let query = StatsQuery {
            since: Some(at(since)),
            until: Some(at(until)),
            points: Some(points),
            ..StatsQuery::default()
        };
        Range::of(&query, at("2026-01-05T10:00:00Z")).unwrap()
    }

    #[test]
    fn a_range_is_covered_by_whole_minutes_and_longer_steps_by_whole_hours() {
        for (since, until, points, begin, end, step) in [
            ("10:00:00", "11:00:00", 60, "10:00:00", "11:00:00", 60),
            ("10:00:30", "11:00:30", 60, "10:00:00", "11:01:00", 60),
            ("10:00:00", "11:00:00", 7, "10:00:00", "11:03:00", 540),
            ("10:20:00", "12:20:00", 1, "10:00:00", "14:00:00", 7_200),
            ("10:00:00", "10:00:00.000001", 500, "10:00:00", "10:01:00", 60),
        ] {
            let day = |time: &str| format!("2026-01-05T{time}Z");
            let range = range(&day(since), &day(until), points);
            assert_eq!(
                (range.since, range.until, range.step_seconds),
                (at(&day(begin)), at(&day(end)), step),
                "{since}"
            );
            assert_eq!(i64::try_from(range.steps).unwrap() * step, (range.until - range.since).num_seconds());
        }
        let month = range("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", 500);
        assert_eq!((month.step_seconds, month.steps), (7_200, 372));
    }

    #[test]
    fn a_range_that_is_none_is_refused_with_what_to_write_instead() {
        let now = at("2026-01-05T10:00:00Z");
        for (query, field) in [
            (StatsQuery { points: Some(0), ..StatsQuery::default() }, "points"),
            (StatsQuery { points: Some(501), ..StatsQuery::default() }, "points"),
            (StatsQuery { since: Some(now), ..StatsQuery::default() }, "since"),
            (StatsQuery { since: Some(now - TimeDelta::days(32)), ..StatsQuery::default() }, "since"),
        ] {
            assert!(matches!(Range::of(&query, now), Err(OperateError::Invalid { field: of, .. }) if of == field));
        }
        assert!(Range::of(&StatsQuery::default(), now).is_ok());
    }

    #[test]
    fn points_have_no_gaps_and_the_whole_is_their_sum() {
        let range = range("2026-01-05T10:00:00Z", "2026-01-05T10:05:00Z", 5);
        let mut board = Board::new(&range, ["github"].into_iter(), ["demo"].into_iter());
        let sum = |step, name: &str, is_time, what: &str, count| {
            let (name, what) = (name.to_owned(), what.to_owned());
            FigureSum { step, is_source: true, name, is_time, what, count }
        };
        board.add(&sum(1, "github", false, "accepted", 3));
        board.add(&sum(3, "github", false, "accepted", 1));
        board.add(&sum(3, "github", true, "40", 4));
        board.add(&sum(3, "", false, "unknown_source", 7));
        board.add(&sum(99, "github", false, "accepted", 1));
        let (total, sources, destinations) = board.finish();
        assert_eq!((total.sums["accepted"], total.sums["unknown_source"]), (4, 7));
        let github = &sources["github"];
        let counted: Vec<_> = github.points.iter().map(|point| point.counts.get("accepted").copied()).collect();
        assert_eq!(counted, [None, Some(3), None, Some(1), None]);
        assert_eq!(github.points[4].at, at("2026-01-05T10:04:00Z"));
        assert!(github.answer.p50_ms.is_some() && github.points[1].answer.p50_ms.is_none());
        assert_eq!((sources.len(), destinations["demo"].points.len(), destinations["demo"].sums.len()), (1, 5, 0));
    }
}
