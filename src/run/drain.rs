//! What a job does: it works off its lane, one delivery at a time, until the lane is empty, has to wait, or the job's
//! budget is spent. Takes a job's id and payload; gives how it ended. Knows nothing of apalis, so that tests drain by hand.

use std::time::Instant;

use super::{
    Context,
    attempt::run_attempt,
    settlement::settlement,
    turn::{Step, Turns},
    within::run_within,
};
use crate::{
    config::Config,
    crash_point::crash_point,
    domain::JobId,
    store::{Result, deliveries::Claim, jobs::Work},
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
                budget.deliveries = budget.deliveries.saturating_sub(1);
                let may_run = || !budget.is_spent() && !ctx.stop.is_finishing();
                if ctx.deliverer.is_transactional(&claim) {
                    run_within(&turns, &claim, may_run).await?
                } else {
                    run_apart(&turns, &claim, may_run).await?
                }
            }
            Step::Parked => return Ok(Drained::Parked),
            Step::Blocked => return Ok(Drained::Blocked),
            Step::HandedOver => return Ok(Drained::HandedOver),
            Step::Retired => return Ok(Drained::Retired),
            Step::Fenced => return Ok(Drained::Fenced),
        };
    }
}

/// The way of effects across a network: nothing of the database is held while one lasts.
async fn run_apart(turns: &Turns<'_>, claim: &Claim, may_run: impl Fn() -> bool) -> Result<Step> {
    let (ended, took) = run_attempt(turns.ctx, claim, turns.ctx.deliverer.deliver(claim)).await;
    let end = settlement(turns.ctx, claim, ended, took);
    turns.settle(claim, &end, may_run()).await
}

/// What `drain_job` must never do, for the drill to find out.
#[cfg(feature = "sabotage")]
async fn mark_then_run(turns: &Turns<'_>, claim: &Claim) -> Result<Step> {
    use std::time::Duration;

    use super::attempt::Ended;
    use crate::domain::{Outcome, OutcomeClass};

    let reason = "marked before its effect".to_owned();
    let outcome = Outcome { class: OutcomeClass::Succeeded, reason, answer: None, retry_after: None };
    let end = settlement(turns.ctx, claim, Ended::With(outcome), Duration::ZERO);
    let next = turns.settle(claim, &end, true).await?;
    run_attempt(turns.ctx, claim, turns.ctx.deliverer.deliver(claim)).await;
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
