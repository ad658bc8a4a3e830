//! Versions: where an event stands in the history of its subject, by the provider's own account.

use std::fmt;

use chrono::DateTime;
use serde::ser::SerializeStruct as _;

/// A comparable value. docs/ordering.md tells for each event what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// What the numbers are, in words that an operator reads: their names, separated by commas, and after `of` the subject that
    /// they are about. Versions of different scales are not compared: neither event replaces the other.
    pub scale: String,
    /// Compared from the left.
    pub parts: Vec<i64>,
    /// The states before and after, where events of the subject form a chain.
    pub chain: Option<Chain>,
}

/// How an event leads from one state of its subject to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The state before; `None` when there was none.
    pub from: Option<String>,
    /// The state after; `None` when there is none any more.
    pub to: Option<String>,
    /// Whether it decides before the numbers do, or only where they are equal.
    pub is_first: bool,
}

/// The rank of `action` for a thing that is gone.
pub const DELETED: i64 = 1;

/// One number of a version, with its name: what it counts stands in the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Such as `workflow_run.updated_at`.
    pub name: &'a str,
    /// The number.
    pub value: i64,
}

/// What a part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Microseconds since 1970.
    Time,
    /// How far something has come, see [`rank_of_status`].
    Status,
    /// [`DELETED`], or 0.
    Action,
    /// A number that grows: attempts, ids.
    Number,
}

impl Version {
    /// The numbers with their names.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let names = self.scale.split_once(" of ").map_or(self.scale.as_str(), |(names, _)| names);
        names.split(", ").zip(&self.parts).map(|(name, value)| Part { name, value: *value })
    }
}

/// As JSON: `{"scale": …, "parts": […], "from": …, "to": …, "chain_first": …, "in_words": …}`.
impl serde::Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chain = self.chain.as_ref();
        let mut version = serializer.serialize_struct("Version", 6)?;
        version.serialize_field("scale", &self.scale)?;
        version.serialize_field("parts", &self.parts)?;
        version.serialize_field("from", &chain.and_then(|chain| chain.from.as_deref()))?;
        version.serialize_field("to", &chain.and_then(|chain| chain.to.as_deref()))?;
        version.serialize_field("chain_first", &chain.is_some_and(|chain| chain.is_first))?;
        version.serialize_field("in_words", &self.to_string())?;
        version.end()
    }
}

/// The JSON above, as a reader sees it.
#[derive(serde::Deserialize, utoipa::ToSchema)]
struct VersionText {
    /// What the numbers are.
    scale: String,
    /// Compared from the left.
    parts: Vec<i64>,
    /// The state before.
    from: Option<String>,
    /// The state after.
    to: Option<String>,
    /// Whether the states decide before the numbers do.
    #[serde(default)]
    chain_first: bool,
}

impl<'de> serde::Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let VersionText { scale, parts, from, to, chain_first } = VersionText::deserialize(deserializer)?;
        let chain = (from.is_some() || to.is_some()).then_some(Chain { from, to, is_first: chain_first });
        Ok(Self { scale, parts, chain })
    }
}

impl utoipa::PartialSchema for Version {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        VersionText::schema()
    }
}

impl utoipa::ToSchema for Version {}

/// `workflow_run.run_attempt 2, workflow_run.status completed`, and the chain behind it.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.parts().enumerate() {
            write!(f, "{}{} {}", if place > 0 { ", " } else { "" }, part.name, part.in_words())?;
        }
        if let Some((_, thing)) = self.scale.split_once(" of ") {
            write!(f, " of {thing}")?;
        }
        if let Some(chain) = &self.chain {
            let state = |state: &Option<String>| state.as_deref().map_or_else(|| "nothing".to_owned(), short_state);
            write!(f, ", leads from {} to {}", state(&chain.from), state(&chain.to))?;
        }
        Ok(())
    }
}

impl Part<'_> {
    /// What it counts, by its name.
    #[must_use]
    pub fn measure(&self) -> Measure {
        match self.name.rsplit('.').next() {
            Some("status") => Measure::Status,
            Some("action") => Measure::Action,
            Some("id" | "run_attempt") => Measure::Number,
            _ => Measure::Time,
        }
    }

    /// The number as an operator reads it.
    #[must_use]
    pub fn in_words(&self) -> String {
        match (self.measure(), self.value) {
            (Measure::Time, micros) => DateTime::from_timestamp_micros(micros)
                .map_or_else(|| micros.to_string(), |time| time.format("%Y-%m-%d %H:%M:%S%.f").to_string()),
            (Measure::Status, 0) => "not begun".to_owned(),
            (Measure::Status, 1) => "in_progress".to_owned(),
            (Measure::Status, 2) => "completed".to_owned(),
            (Measure::Action, 0) => "not deleted".to_owned(),
            (Measure::Action, DELETED) => "deleted".to_owned(),
            (_, number) => number.to_string(),
        }
    }
}

/// How far a run, a job, a check or a suite has come.
///
/// Before it begins it is called by several names, in no order that
/// GitHub promises (a job that waits for an approval is queued after it, and its first event may say either): they are one rank.
#[must_use]
pub fn rank_of_status(status: &str) -> Option<i64> {
    match status {
        "queued" | "requested" | "waiting" | "pending" => Some(0),
        "in_progress" => Some(1),
        "completed" => Some(2),
        _ => None,
    }
}

/// The beginning of a state's name: digests are long, and an operator compares by the first letters.
#[must_use]
pub(super) fn short_state(state: &str) -> String {
    state.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_in_words() {
        let scale = "workflow_run.run_attempt, workflow_run.status, workflow_run.updated_at";
        let version = Version { scale: scale.into(), parts: vec![2, 1, 1_767_607_200_250_000], chain: None };
        assert_eq!(
            version.to_string(),
            "workflow_run.run_attempt 2, workflow_run.status in_progress, workflow_run.updated_at 2026-01-05 10:00:00.250"
        );
        let comment = Version {
            scale: "comment.updated_at or issue.updated_at, action of comment.id 7".into(),
            parts: vec![1_767_607_200_000_000, DELETED],
            chain: None,
        };
        assert_eq!(
            comment.to_string(),
            "comment.updated_at or issue.updated_at 2026-01-05 10:00:00, action deleted of comment.id 7"
        );
        let chain = Chain { from: None, to: Some("6dcb09b5b57875f334f61aebed695e2e4193db5e".into()), is_first: true };
        let push =
            Version { scale: "repository.pushed_at".into(), parts: vec![1_767_607_200_000_000], chain: Some(chain) };
        assert_eq!(push.to_string(), "repository.pushed_at 2026-01-05 10:00:00, leads from nothing to 6dcb09b5b578");
    }

    #[test]
    fn numbers_that_no_name_explains_are_told_as_they_are() {
        for (name, value) in [("created", i64::MIN), ("created", i64::MAX), ("x.status", 9), ("action", -3), ("id", 5)]
        {
            assert_eq!(Part { name, value }.in_words(), value.to_string());
        }
    }
}
