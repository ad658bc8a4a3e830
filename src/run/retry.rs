//! The retry policy: takes how an attempt ended, gives what happens to its delivery next. Pure: the caller brings the
//! random number, and keeps the time.

use std::time::Duration;

use crate::{
    config::Retry,
    domain::{Outcome, OutcomeClass},
};

/// The longest that a destination's `Retry-After` is obeyed, unless the route's own `retry.max` is longer: a mistaken
/// "ten years" must not bury a delivery.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);

/// The shortest wait that jitter may draw, where the back-off is long enough to allow it: a draw of nearly nothing would
/// hit a destination that has just failed once more.
const WAIT_MIN: Duration = Duration::from_millis(100);

/// A back-off configured as zero counts as this, so that no retry is immediate.
const BACK_OFF_MIN: Duration = Duration::from_millis(1);

/// What happens to a delivery after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The destination took it.
    Succeed,
    /// Try again when this long has passed. Never zero.
    RetryAfter(Duration),
    /// Not again by itself: a dead letter.
    Die {
        /// One sentence for the operator, with what the last attempt came to.
        reason: String,
    },
}

/// Decides after attempt number `tries` of a round (1 is the first; a replay begins a new round) that ended in `outcome`.
///
/// The wait is drawn evenly from nothing to `initial × 2^(tries − 1)`, at most `max` ("full jitter"), so that deliveries
/// that failed together do not come back together. A `Retry-After` can only lengthen it. `random` is in `[0, 1)`; anything
/// else counts as the nearer end.
#[must_use]
pub fn next_step(retry: &Retry, tries: i32, outcome: &Outcome, random: f64) -> NextStep {
    match outcome.class {
        OutcomeClass::Succeeded => NextStep::Succeed,
        OutcomeClass::Rejected => {
            NextStep::Die { reason: format!("{}, which another attempt would not change", outcome.reason) }
        }
        OutcomeClass::Failed | OutcomeClass::Unknown if tries >= retry.attempts => {
            NextStep::Die { reason: format!("{}, on the last of {tries} attempts", outcome.reason) }
        }
        OutcomeClass::Failed | OutcomeClass::Unknown => {
            let random = if random.is_nan() { 0.0 } else { random.clamp(0.0, 1.0) };
            let back_off = draw(longest_wait(retry, tries), random);
            let asked = outcome.retry_after.map_or(Duration::ZERO, |asked| honour(retry, asked, random));
            NextStep::RetryAfter(back_off.max(asked))
        }
    }
}

/// The back-off before jitter. It only grows with `tries`, and stops at `retry.max`.
fn longest_wait(retry: &Retry, tries: i32) -> Duration {
    let doublings = u32::try_from(tries.saturating_sub(1)).unwrap_or(0);
    let grown = 1u32.checked_shl(doublings).and_then(|factor| retry.initial.checked_mul(factor));
    grown.unwrap_or(retry.max).min(retry.max).max(BACK_OFF_MIN)
}

/// A wait between the floor and `longest`. A short back-off has a lower floor, so that even it is spread.
fn draw(longest: Duration, random: f64) -> Duration {
    let floor = WAIT_MIN.min(longest / 10).max(BACK_OFF_MIN);
    floor + longest.saturating_sub(floor).mul_f64(random)
}

/// What a destination asked for, and up to a tenth more, for it tells all its senders the same: within the limit.
fn honour(retry: &Retry, asked: Duration, random: f64) -> Duration {
    let limit = retry.max.max(RETRY_AFTER_MAX);
    let asked = asked.min(limit);
    asked.saturating_add((asked / 10).mul_f64(random)).min(limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const ALMOST_ONE: f64 = 1.0 - f64::EPSILON;

    fn retry(attempts: i32, initial: Duration, max: Duration) -> Retry {
        Retry { attempts, initial, max }
    }

    fn outcome(class: OutcomeClass, retry_after: Option<u64>) -> Outcome {
        let retry_after = retry_after.map(Duration::from_secs);
        Outcome { class, reason: "answered 503 Service Unavailable".to_owned(), answer: None, retry_after }
    }

    fn wait(retry: &Retry, tries: i32, retry_after: Option<u64>, random: f64) -> Duration {
        match next_step(retry, tries, &outcome(OutcomeClass::Failed, retry_after), random) {
            NextStep::RetryAfter(wait) => wait,
            other => panic!("expected a retry, got {other:?}"),
        }
    }

    #[test]
    fn a_wait_is_above_zero_and_within_its_limit_for_ten_thousand_attempts() {
        for initial in [Duration::ZERO, Duration::from_millis(1), Duration::from_secs(1), Duration::from_secs(300)] {
            let retry = retry(i32::MAX, initial, HOUR);
            let mut before = Duration::ZERO;
            for tries in (0..=10_000).chain([i32::MIN, i32::MAX - 1]) {
                for random in [0.0, 0.5, ALMOST_ONE, 1.0, f64::NAN, -1.0, f64::INFINITY] {
                    let wait = wait(&retry, tries, None, random);
                    assert!(wait > Duration::ZERO && wait <= HOUR, "attempt {tries}, {initial:?}, {random}: {wait:?}");
                }
                if (0..=10_000).contains(&tries) {
                    let longest = longest_wait(&retry, tries);
                    assert!(longest >= before, "the back-off shrank at attempt {tries}");
                    before = longest;
                }
            }
        }
    }

    #[test]
    fn the_back_off_doubles_until_its_limit() {
        let retry = retry(12, Duration::from_secs(5), Duration::from_secs(60));
        let longest: Vec<_> = (1..=6).map(|tries| longest_wait(&retry, tries).as_secs()).collect();
        assert_eq!(longest, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn deliveries_that_failed_together_come_back_spread_over_the_whole_back_off() {
        let retry = retry(12, Duration::from_secs(10), HOUR);
        let waits: Vec<_> = (0..100).map(|n| wait(&retry, 1, None, f64::from(n) / 100.0).as_secs()).collect();
        for second in 0..10 {
            let together = waits.iter().filter(|wait| **wait == second).count();
            assert!((9..=12).contains(&together), "{together} in second {second}");
        }
    }

    #[test]
    fn a_retry_after_lengthens_the_wait_and_never_shortens_it() {
        let retry = retry(12, Duration::from_secs(60), HOUR);
        assert_eq!(wait(&retry, 1, Some(0), ALMOST_ONE), wait(&retry, 1, None, ALMOST_ONE));
        assert_eq!(wait(&retry, 1, Some(7), ALMOST_ONE), wait(&retry, 1, None, ALMOST_ONE));
        assert_eq!(wait(&retry, 1, Some(600), 0.0), Duration::from_secs(600));
        assert!(wait(&retry, 1, Some(600), ALMOST_ONE) <= Duration::from_secs(660));
    }

    #[test]
    fn a_retry_after_is_obeyed_up_to_an_hour_or_the_routes_own_limit() {
        let short = retry(12, Duration::from_secs(1), Duration::from_secs(30));
        let long = retry(12, Duration::from_secs(1), HOUR * 24);
        for absurd in [1_000_000_000, 3 * 24 * 3_600, u64::MAX] {
            assert_eq!(wait(&short, 1, Some(absurd), 0.5), HOUR);
            assert_eq!(wait(&long, 1, Some(absurd), 0.5), HOUR * 24);
        }
    }

    #[test]
    fn a_lost_answer_is_tried_again_like_a_failure() {
        let retry = retry(3, Duration::from_secs(1), HOUR);
        let step = next_step(&retry, 1, &outcome(OutcomeClass::Unknown, None), 0.5);
        assert!(matches!(step, NextStep::RetryAfter(_)), "{step:?}");
    }

    #[test]
    fn the_last_attempt_makes_a_dead_letter_that_tells_what_happened() {
        let retry = retry(3, Duration::from_secs(1), HOUR);
        for class in [OutcomeClass::Failed, OutcomeClass::Unknown] {
            assert!(matches!(next_step(&retry, 2, &outcome(class, None), 0.5), NextStep::RetryAfter(_)));
            let NextStep::Die { reason } = next_step(&retry, 3, &outcome(class, Some(5)), 0.5) else {
                panic!("attempt 3 of 3 was not the last");
            };
            assert!(reason.contains("3 attempts") && reason.contains("503"), "{reason}");
        }
    }

    #[test]
    fn a_rejected_delivery_is_dead_at_once_and_a_taken_one_is_done() {
        let retry = retry(12, Duration::from_secs(1), HOUR);
        let step = next_step(&retry, 1, &outcome(OutcomeClass::Rejected, Some(5)), 0.5);
        assert!(matches!(step, NextStep::Die { .. }), "{step:?}");
        assert_eq!(next_step(&retry, 99, &outcome(OutcomeClass::Succeeded, None), 0.5), NextStep::Succeed);
    }

    proptest! {
        #[test]
        fn any_setting_gives_a_wait_without_a_panic(
            initial in any::<u64>(), max in any::<u64>(), tries in any::<i32>(),
            asked in proptest::option::of(any::<u64>()), random in any::<f64>(),
        ) {
            let retry = retry(i32::MAX, Duration::from_secs(initial), Duration::from_secs(max));
            prop_assume!(tries < i32::MAX);
            prop_assert!(wait(&retry, tries, asked, random) > Duration::ZERO);
        }
    }
}
