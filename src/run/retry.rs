//! What follows an attempt, pure: the same inputs give the same step.

use std::time::Duration;

use crate::{
    config::Retry,
    domain::{Outcome, OutcomeClass},
};

/// What becomes of a delivery after an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Done.
    Succeed,
    /// Again, this long from now.
    RetryAfter(Duration),
    /// A dead letter.
    Die {
        /// Why.
        reason: String,
    },
}

/// Decides. `tries` counts this attempt; `random` is from 0 to 1.
#[must_use]
pub fn next_step(retry: &Retry, tries: i32, outcome: &Outcome, random: f64) -> NextStep {
    match outcome.class {
        OutcomeClass::Succeeded => NextStep::Succeed,
        OutcomeClass::Rejected => NextStep::Die { reason: outcome.reason.clone() },
        OutcomeClass::Failed | OutcomeClass::Unknown if tries >= retry.attempts => {
            NextStep::Die { reason: format!("attempt {tries} of {}: {}", retry.attempts, outcome.reason) }
        }
        OutcomeClass::Failed | OutcomeClass::Unknown => {
            let doublings = u32::try_from(tries.max(1) - 1).unwrap_or(0).min(31);
            let longest = retry.initial.saturating_mul(1 << doublings).min(retry.max);
            NextStep::RetryAfter(longest.mul_f64(random.clamp(0.0, 1.0)))
        }
    }
}
