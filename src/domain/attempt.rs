//! Attempts: single tries of a delivery, and how they ended.

use std::time::Duration;

use bytes::Bytes;

/// How much of a destination's answer is kept with the attempt: enough to read an error page, and bounded.
pub const ANSWER_KEPT_BYTES: usize = 64 * 1024;

/// What made this attempt happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The delivery's own turn, or a retry of it.
    Automatic,
    /// An operator asked.
    Manual,
    /// The provider sent the event again and the delivery was dead.
    Redelivery,
}

impl Trigger {
    /// The word for it in SQL and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Manual => "manual",
            Self::Redelivery => "redelivery",
        }
    }
}

/// How an attempt ended, in the one respect that decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeClass {
    /// The destination took it.
    Succeeded,
    /// It did not, and trying again may help.
    Failed,
    /// It did not, and says that trying again will not help: a dead letter at once.
    Rejected,
    /// Nobody knows: the answer was lost, or the worker died. Tried again, with the same idempotency key.
    Unknown,
}

impl OutcomeClass {
    /// The word for it in SQL and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

/// How an attempt ended, with all that an operator may want to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What decides the next step.
    pub class: OutcomeClass,
    /// One sentence: what happened and, where there is something to do, what.
    pub reason: String,
    /// What the destination answered, where it did.
    pub answer: Option<Answer>,
    /// The destination asked to be left alone this long (`Retry-After`), not yet clamped.
    pub retry_after: Option<Duration>,
}

/// A destination's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status, or the exit code of a command.
    pub status: u16,
    /// The first [`ANSWER_KEPT_BYTES`] of its body.
    pub body: Bytes,
    /// Whether the body was longer than what is kept.
    pub is_cut: bool,
}
