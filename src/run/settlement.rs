//! Where an attempt leaves its delivery: takes how it ended, gives what is written. Asks `retry` and `rules`; writes nothing.

use std::time::Duration;

use super::{
    Context,
    attempt::Ended,
    retry::{NextStep, next_step},
    rules::last_words,
};
use crate::{
    config::{Config, Retry},
    domain::{DeliveryState, Outcome, OutcomeClass, RouteName},
    store::deliveries::{Claim, Settlement},
};

/// The policy of a delivery whose route the configuration has no more.
const RETRY_WITHOUT_ROUTE: Retry =
    Retry { attempts: 12, initial: Duration::from_secs(5), max: Duration::from_secs(3600) };

/// Decides. The waits of deliveries that failed together are spread at random.
pub(super) fn settlement(ctx: &Context, claim: &Claim, ended: Ended, took: Duration) -> Settlement {
    let outcome = match ended {
        Ended::With(outcome) => outcome,
        Ended::Overdue(limit) => {
            unknown(format!("the attempt did not end within {limit:?}: the destination may have taken it"))
        }
        Ended::Panicked(words) => {
            unknown(format!("the attempt panicked ({words}): this is a fault in Oncehook, please report it"))
        }
        Ended::Interrupted => {
            let reason = "the process stopped before the attempt had ended".to_owned();
            let last_error = Some(reason.clone());
            let outcome = unknown(reason);
            let (state, delay) = (DeliveryState::Queued, Duration::ZERO);
            return Settlement { state, delay, last_error, outcome, took, last_words: None };
        }
    };
    let config = ctx.config();
    let retry = retry_of(&config, &claim.route);
    let (state, delay, last_error) = match next_step(&retry, claim.tries, &outcome, rand::random()) {
        NextStep::Succeed => (DeliveryState::Succeeded, Duration::ZERO, None),
        NextStep::RetryAfter(delay) => (DeliveryState::Retrying, delay, Some(outcome.reason.clone())),
        NextStep::Die { reason } => {
            tracing::warn!(delivery = %claim.lease.delivery, route = %claim.route, reason, "a delivery is a dead letter");
            (DeliveryState::Dead, Duration::ZERO, Some(reason))
        }
    };
    let words = (state == DeliveryState::Dead).then(|| last_words(&config, &claim.route, claim.purpose));
    Settlement { state, delay, last_error, outcome, took, last_words: words }
}

fn retry_of(config: &Config, route: &RouteName) -> Retry {
    config.routes.iter().find(|rule| rule.name == *route).map_or(RETRY_WITHOUT_ROUTE, |rule| rule.retry)
}

/// Nobody knows what became of it.
pub(super) fn unknown(reason: String) -> Outcome {
    Outcome { class: OutcomeClass::Unknown, reason, answer: None, retry_after: None }
}
