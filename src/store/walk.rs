//! Walking a long list by an index, page by page: bounds on what one page costs, and the parts of statements that lists have in
//! common. No SQL of its own runs here.
//!
//! These statements are put together from the filters that are set, since a plan that serves all combinations of
//! `($1 is null or …)` serves none of them. Every value is a bind; what is pushed as text is written in this program.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::domain::ReceiptId;

/// Rows that one page walks past before it gives what it has found so far: it keeps a page of a search that finds little below
/// 100 ms. The next page goes on from there.
pub const WALKED_MAX: i64 = 10_000;

/// How far `received_at` and the time in an id may lie apart. Both come from one clock, within one request; an event of the
/// outbox has its row's time.
const SLACK: TimeDelta = TimeDelta::hours(1);

/// In which order a list is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// For people.
    NewestFirst,
    /// For bulks.
    OldestFirst,
}

/// One page of a walk: what was found, and where the next one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked<K> {
    /// What passed the filter, in order.
    pub found: Vec<K>,
    /// Begin the next page behind this one; `None`: the end was reached.
    pub next: Option<K>,
}

/// Ids of receipts to look among, all inclusive; the ends of a time range with slack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdRange {
    /// Not below.
    pub first: Option<Uuid>,
    /// Not above.
    pub last: Option<Uuid>,
}

impl Direction {
    pub(super) fn order(self) -> &'static str {
        match self {
            Self::NewestFirst => " desc",
            Self::OldestFirst => " asc",
        }
    }

    pub(super) fn beyond(self) -> &'static str {
        match self {
            Self::NewestFirst => " < ",
            Self::OldestFirst => " > ",
        }
    }
}

impl IdRange {
    /// Where the receipts of this time can be.
    #[must_use]
    pub fn of_time(since: Option<DateTime<Utc>>, until: Option<DateTime<Utc>>) -> Self {
        let shifted = |time: DateTime<Utc>, by| ReceiptId::first_at(time.checked_add_signed(by).unwrap_or(time)).uuid();
        Self { first: since.map(|time| shifted(time, -SLACK)), last: until.map(|time| shifted(time, SLACK)) }
    }

    /// What is in both.
    #[must_use]
    pub fn and(self, first: Uuid, last: Uuid) -> Self {
        let first = self.first.map_or(first, |own| own.max(first));
        Self { first: Some(first), last: Some(self.last.map_or(last, |own| own.min(last))) }
    }

    pub(super) fn push(self, sql: &mut QueryBuilder<Postgres>, column: &str) {
        if let Some(first) = self.first {
            sql.push(" and ").push(column).push(" >= ").push_bind(first);
        }
        if let Some(last) = self.last {
            sql.push(" and ").push(column).push(" <= ").push_bind(last);
        }
    }
}

/// `column = type or below it`, for a column that is compared by bytes.
pub(super) fn push_type(sql: &mut QueryBuilder<Postgres>, column: &str, event_type: &str) {
    // A slash is the byte behind the full stop.
    sql.push(" and (").push(column).push(" = ").push_bind(event_type.to_owned());
    sql.push(" or (").push(column).push(" >= ").push_bind(format!("{event_type}."));
    sql.push(" and ").push(column).push(" < ").push_bind(format!("{event_type}/")).push("))");
}

/// The least text that is above all that begin with `text`, by bytes. `None`: there is none.
pub(super) fn behind(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    *bytes.last_mut()? += 1;
    String::from_utf8(bytes).ok()
}
