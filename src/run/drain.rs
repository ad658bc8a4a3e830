//! What a job does: it works off its lane, one delivery at a time, until the lane is empty, has to wait, or the job's
//! budget is spent. Takes a job's id and payload; gives how it ended. Knows nothing of apalis, so that tests drain by hand.

use std::time::{Duration, Instant};

use super::{
    Context,
    attempt::{Ended, run_attempt},
    retry::{NextStep, next_step},
    turn::{Turn, leave, next_turn},
};
use crate::{
    config::{Config, Retry},
    domain::{DeliveryState, JobId, Outcome, OutcomeClass, RouteName},
    store::{
        Result, deliveries,
        deliveries::{Claim, Settlement},
        jobs::Work,
        lanes,
    },
};

/// How a job ended. In every case the job's row is gone, or another job owns the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Nothing is left to do, and lane and job are deleted.
    Retired,
    /// The head has to wait: a job for then has taken this one's place.
    Parked,
    /// The budget is spent, or the process stops: a fresh job has taken this one's place.
    HandedOver,
    /// The lane belongs to another job, or a delivery was taken from this one.
    Fenced,
}

/// When a settlement fails to reach the database it is tried again after this.
const SETTLE_AGAIN: Duration = Duration::from_millis(200);

/// The policy of a delivery whose route the configuration has no more.
const RETRY_WITHOUT_ROUTE: Retry =
    Retry { attempts: 12, initial: Duration::from_secs(5), max: Duration::from_secs(3600) };

/// Works off what a job came for. `worker` is written into leases and attempts.
///
/// # Errors
/// Those of the database. Nothing is lost by one: what was claimed comes back when its lease runs out, at the latest.
pub async fn drain_job(ctx: &Context, worker: &str, job: JobId, work: &Work) -> Result<Drained> {
    let mut budget = Budget::new(&ctx.config.load());
    let mut turn = first_turn(ctx, worker, job, work).await?;
    loop {
        turn = match turn {
            Turn::Run(claim) => {
                fail::fail_point!("claimed");
                let (ended, took) = run_attempt(ctx, &claim).await;
                budget.deliveries = budget.deliveries.saturating_sub(1);
                let end = settlement(ctx, &claim, ended, took);
                let may_go_on = !budget.is_spent() && !ctx.stop.is_finishing();
                settle_patiently(ctx, job, work, &claim, &end, may_go_on).await?
            }
            Turn::Again => first_turn(ctx, worker, job, work).await?,
            Turn::Parked => return Ok(Drained::Parked),
            Turn::Retired => return Ok(Drained::Retired),
            Turn::Fenced => return Ok(Drained::Fenced),
            Turn::HandedOver => {
                ctx.doorbell.ring();
                return Ok(Drained::HandedOver);
            }
        };
    }
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

async fn first_turn(ctx: &Context, worker: &str, job: JobId, work: &Work) -> Result<Turn> {
    let mut tx = ctx.pool.begin().await?;
    let turn = next_turn(ctx, &mut tx, work, job, worker).await?;
    tx.commit().await?;
    Ok(turn)
}

fn settlement(ctx: &Context, claim: &Claim, ended: Ended, took: Duration) -> Settlement {
    let outcome = match ended {
        Ended::With(outcome) => outcome,
        Ended::Interrupted => {
            let reason = "the process stopped before the attempt had ended".to_owned();
            let outcome = Outcome { class: OutcomeClass::Unknown, reason, answer: None, retry_after: None };
            return Settlement { state: DeliveryState::Queued, delay: Duration::ZERO, outcome, took };
        }
    };
    let retry = retry_of(&ctx.config.load(), &claim.route);
    match next_step(&retry, claim.tries, &outcome, rand::random()) {
        NextStep::Succeed => Settlement { state: DeliveryState::Succeeded, delay: Duration::ZERO, outcome, took },
        NextStep::RetryAfter(delay) => Settlement { state: DeliveryState::Retrying, delay, outcome, took },
        NextStep::Die { reason } => {
            tracing::warn!(delivery = %claim.lease.delivery, route = %claim.route, reason, "a delivery is a dead letter");
            let outcome = Outcome { reason, ..outcome };
            Settlement { state: DeliveryState::Dead, delay: Duration::ZERO, outcome, took }
        }
    }
}

fn retry_of(config: &Config, route: &RouteName) -> Retry {
    config.routes.iter().find(|rule| rule.name == *route).map_or(RETRY_WITHOUT_ROUTE, |rule| rule.retry)
}

/// Settles, and tries again for as long as the lease may hold: the effect has happened, and a database that restarts
/// meanwhile should not make it happen twice.
async fn settle_patiently(
    ctx: &Context,
    job: JobId,
    work: &Work,
    claim: &Claim,
    end: &Settlement,
    may_go_on: bool,
) -> Result<Turn> {
    let until = Instant::now() + ctx.config.load().run.lease;
    let mut may_go_on = may_go_on;
    loop {
        match settle(ctx, job, work, claim, end, may_go_on).await {
            Err(error) if Instant::now() < until => {
                tracing::debug!(delivery = %claim.lease.delivery, %error, "an attempt was not settled; trying again");
                // If it was the next delivery that failed to be claimed, this one shall not suffer for it.
                may_go_on = false;
                tokio::time::sleep(SETTLE_AGAIN).await;
            }
            result => return result,
        }
    }
}

/// Closes the attempt, moves the delivery and claims the lane's next in one transaction: one commit per delivery.
async fn settle(
    ctx: &Context,
    job: JobId,
    work: &Work,
    claim: &Claim,
    end: &Settlement,
    may_go_on: bool,
) -> Result<Turn> {
    let lease = &claim.lease;
    let mut tx = ctx.pool.begin().await?;
    if !deliveries::settle_delivery(&mut tx, lease, end).await? {
        tracing::warn!(delivery = %lease.delivery, worker = lease.worker, outcome = end.outcome.class.as_str(),
            "an attempt ended after its delivery had been taken over; its outcome is dropped");
        return Ok(Turn::Fenced);
    }
    let turn = if may_go_on {
        next_turn(ctx, &mut tx, work, job, &lease.worker).await?
    } else {
        leave(&mut tx, work, job).await?
    };
    if let (Turn::Fenced, Work::Lane(lane)) = (&turn, work) {
        // Another job parked the lane until our lease would end. That is now.
        lanes::bring_lane_forward(&mut tx, lane).await?;
    }
    tx.commit().await?;
    fail::fail_point!("after_settle");
    Ok(turn)
}
