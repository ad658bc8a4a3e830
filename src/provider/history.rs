//! Histories: where an event stands among those about the same thing, as templates over fields of the payload. Takes what
//! was read of a payload, gives the version; where a part of it cannot be read, the time alone.

use std::borrow::Cow;

use super::{json::Reading, subject::EventRow};
use crate::domain::{Chain, DELETED, Digest, EventTime, OrderingKey, Version, rank_of_status};

/// The longest name of a state or a thing that is kept as it is: commit ids have 40 characters, or 64.
const TOKEN_LENGTH_MAX: usize = 64;

/// One part of a version. Compared in the order in which the table names them. The last segment of a part's name tells what
/// it counts: `domain::Part::measure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The event time, in microseconds since 1970.
    Time,
    /// The whole number at this path, which grows.
    Number(&'static str),
    /// The rank of the status at this path: not begun, in progress, completed.
    Status(&'static str),
    /// What is deleted stays so: at the same time as another event, its deletion comes later.
    Deleted,
    /// Not a number: the states before and after. It decides before the numbers if it stands before them.
    Chain(&'static str, &'static str),
    /// Not a number either: the lane holds several things, and this is the id of the one that the event is about. Events about
    /// different ones are not compared: a comment does not replace another.
    Of(&'static str),
}

impl Step {
    fn fields(self) -> impl Iterator<Item = &'static str> {
        let (one, two) = match self {
            Self::Time => (None, None),
            Self::Number(path) | Self::Status(path) | Self::Of(path) => (Some(path), None),
            Self::Deleted => (Some("action"), None),
            Self::Chain(from, to) => (Some(from), Some(to)),
        };
        one.into_iter().chain(two)
    }
}

impl EventRow {
    /// The fields that the version is made of, the times aside.
    pub(super) fn version_fields(&self) -> impl Iterator<Item = &'static str> {
        self.version.iter().flat_map(|step| step.fields())
    }

    /// The version of an event about `subject` at this time. `None` where the event has neither, or the table names no steps:
    /// then nothing tells whether it is older than another.
    pub(super) fn version(
        &self,
        reading: &Reading,
        subject: Option<&OrderingKey>,
        time: Option<EventTime>,
    ) -> Option<Version> {
        let (subject, time) = (subject?.as_str(), time?.at.timestamp_micros());
        let mut parts = Vec::with_capacity(self.version.len());
        let (mut thing, mut is_whole) = (None, !self.version.is_empty());
        for step in self.version {
            let part = match step {
                Step::Time => Some(time),
                Step::Number(path) => reading.word(path).and_then(|digits| digits.parse().ok()),
                Step::Status(path) => reading.text(path).and_then(rank_of_status),
                Step::Deleted => Some(if reading.text("action") == Some("deleted") { DELETED } else { 0 }),
                Step::Chain(..) => continue,
                Step::Of(path) => {
                    // Without it nothing tells which other events may be compared.
                    thing = Some((*path, token(reading.word(path)?)));
                    continue;
                }
            };
            is_whole &= part.is_some();
            parts.extend(part);
        }
        if self.version.is_empty() {
            return None;
        }
        let names = if is_whole { self.scale() } else { self.time_names() };
        if !is_whole {
            parts = vec![time];
        }
        // A route may put many subjects into one lane: none of them replaces another.
        let scale = match thing {
            Some((path, id)) => format!("{names} of {subject} {path} {id}"),
            None => format!("{names} of {subject}"),
        };
        Some(Version { scale, parts, chain: self.chain(reading) })
    }

    /// What the numbers are.
    pub(super) fn scale(&self) -> Cow<'static, str> {
        let mut names = self.version.iter().filter_map(|step| match step {
            Step::Time => Some(self.time_names()),
            Step::Number(path) | Step::Status(path) => Some(Cow::Borrowed(*path)),
            Step::Deleted => Some("action".into()),
            Step::Chain(..) | Step::Of(_) => None,
        });
        let first = names.next().unwrap_or_default();
        names.fold(first, |all, name| format!("{all}, {name}").into())
    }

    fn time_names(&self) -> Cow<'static, str> {
        match self.times {
            [only] => Cow::Borrowed(only),
            several => several.join(" or ").into(),
        }
    }

    fn chain(&self, reading: &Reading) -> Option<Chain> {
        let place = self.version.iter().position(|step| matches!(step, Step::Chain(..)))?;
        let Step::Chain(from, to) = self.version[place] else { return None };
        Some(Chain { from: state(reading, from), to: state(reading, to), is_first: place == 0 })
    }
}

/// The name of a state; git writes 0000… for "none".
fn state(reading: &Reading, path: &str) -> Option<String> {
    reading.text(path).filter(|name| name.bytes().any(|byte| byte != b'0')).map(token)
}

/// A name as it is, or the digest of one that is long or odd: names stand in every table of the database and on terminals.
fn token(name: &str) -> String {
    let is_plain = name.len() <= TOKEN_LENGTH_MAX && name.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain { name.to_owned() } else { Digest::of(name.as_bytes()).to_string() }
}
