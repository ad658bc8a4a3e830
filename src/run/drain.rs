//! What a job does: it works off its lane, one delivery at a time, until the lane is empty, has to wait, or the job's
//! budget is spent. Takes a job's id and payload; gives how it ended. Knows nothing of apalis, so that tests drain by hand.

use std::time::{Duration, Instant};

use super::{
    Context,
    attempt::{Ended, run_attempt},
    retry::{NextStep, next_step},
    rules::last_words,
    turn::{Step, Turns},
};
use crate::{
    config::{Config, Retry},
    crash_point::crash_point,
    domain::{DeliveryState, JobId, Outcome, OutcomeClass, RouteName},
    store::{
        Result,
        deliveries::{Claim, Settlement},
        jobs::Work,
    },
};

/// How a job ended. In every case the job's row is gone, or another job owns the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Nothing is left to do, and lane and job are deleted.
    Retired,
    /// The head has to wait: a job for then has taken this one's place.
    Parked,
    /// A dead delivery holds the lane until it is asked for again or an operator unblocks the lane; the job is deleted.
    Blocked,
    /// The budget is spent, or the process stops: a fresh job has taken this one's place.
    HandedOver,
    /// The lane belongs to another job, or a delivery was taken from this one.
    Fenced,
}

/// The policy of a delivery whose route the configuration has no more.
const RETRY_WITHOUT_ROUTE: Retry =
    Retry { attempts: 12, initial: Duration::from_secs(5), max: Duration::from_secs(3600) };

/// Works off what a job came for. `worker` is written into leases and attempts.
///
/// # Errors
/// Those of the database. Nothing is lost by one: what was claimed comes back when its lease runs out, at the latest.
pub async fn drain_job(ctx: &Context, worker: &str, job: JobId, work: &Work) -> Result<Drained> {
    let mut budget = Budget::new(&ctx.config());
    let turns = Turns { ctx, job, work, worker };
    let mut step = turns.first().await?;
    loop {
        step = match step {
            Step::Run(claim) => {
                crash_point("claimed")?;
                #[cfg(feature = "sabotage")]
                if crate::sabotage::is_on(crate::sabotage::Sabotage::MarkBeforeEffect) {
                    step = mark_then_run(&turns, &claim).await?;
                    continue;
                }
                let (ended, took) = run_attempt(ctx, &claim).await;
                budget.deliveries = budget.deliveries.saturating_sub(1);
                let end = settlement(ctx, &claim, ended, took);
                let may_run = !budget.is_spent() && !ctx.stop.is_finishing();
                turns.settle(&claim.lease, &end, may_run).await?
            }
            Step::Parked => return Ok(Drained::Parked),
            Step::Blocked => return Ok(Drained::Blocked),
            Step::HandedOver => return Ok(Drained::HandedOver),
            Step::Retired => return Ok(Drained::Retired),
            Step::Fenced => return Ok(Drained::Fenced),
        };
    }
}

/// What `drain_job` must never do, for the drill to find out.
#[cfg(feature = "sabotage")]
async fn mark_then_run(turns: &Turns<'_>, claim: &Claim) -> Result<Step> {
    let reason = "marked before its effect".to_owned();
    let outcome = Outcome { class: OutcomeClass::Succeeded, reason, answer: None, retry_after: None };
    let end = settlement(turns.ctx, claim, Ended::With(outcome), Duration::ZERO);
    let next = turns.settle(&claim.lease, &end, true).await?;
    run_attempt(turns.ctx, claim).await;
    Ok(next)
}

/// How much of its lane one job runs, so that every lane gets its share of the workers.
struct Budget {
    deliveries: usize,
    until: Instant,
}

impl Budget {
    fn new(config: &Config) -> Self {
        Self { deliveries: config.run.lane_budget, until: Instant::now() + config.run.lane_budget_time }
    }

    fn is_spent(&self) -> bool {
        self.deliveries == 0 || Instant::now() >= self.until
    }
}

fn settlement(ctx: &Context, claim: &Claim, ended: Ended, took: Duration) -> Settlement {
    let outcome = match ended {
        Ended::With(outcome) => outcome,
        Ended::Interrupted => {
            let reason = "the process stopped before the attempt had ended".to_owned();
            let last_error = Some(reason.clone());
            let outcome = Outcome { class: OutcomeClass::Unknown, reason, answer: None, retry_after: None };
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
