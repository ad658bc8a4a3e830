//! One turn of a job in its lane (or at a delivery without one): settle what ended, take what is next, and where nothing
//! can be taken, decide what becomes of the job. Never runs an effect. A crash between two statements here leaves the
//! job where it was, and its next run finds the same.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::{Context, rules::last_words};
use crate::{
    blueprint::Blueprint,
    crash_point::crash_point,
    domain::{DeliveryRef, DeliveryState, JobId, Outcome, OutcomeClass, Purpose, RouteName},
    store::{
        Result, deliveries,
        deliveries::{Claim, LastWords, Lease, Settlement},
        jobs::{RunAt, Work},
        lanes,
        pauses::bring_forward_if_resumed,
        turns,
        turns::{Asking, Turn},
    },
};

/// What the job does next.
#[derive(Debug)]
pub(super) enum Step {
    /// Run this one.
    Run(Box<Claim>),
    /// Stop: a job for later has taken its place.
    Parked,
    /// Stop: a dead delivery holds the lane, and the job is deleted.
    Blocked,
    /// Stop: a fresh job has taken its place.
    HandedOver,
    /// Stop: nothing is left, and the job is deleted.
    Retired,
    /// Stop: the lane belongs to another job, or the delivery that it held was taken over.
    Fenced,
}

/// A job at work.
#[derive(Clone, Copy)]
pub(super) struct Turns<'a> {
    pub ctx: &'a Context,
    pub job: JobId,
    pub work: &'a Work,
    pub worker: &'a str,
}

/// When a settlement does not reach the database it is tried again after this.
const SETTLE_AGAIN: Duration = Duration::from_millis(200);

/// How long a delivery waits for a destination that this process's configuration does not have.
const DESTINATION_WAIT: Duration = Duration::from_secs(30);

impl Turns<'_> {
    /// The job's first look. A job that apalis had fetched before the process was told to stop begins nothing more.
    pub(super) async fn first(&self) -> Result<Step> {
        let blueprint = self.ctx.live.load_full();
        let asking = self.asking(&blueprint, !self.ctx.stop.is_finishing());
        let turn = self.ask(&asking).await?;
        self.take(&asking, turn).await
    }

    /// Settles an attempt and takes what is next or, if it may not go on, leaves.
    pub(super) async fn settle(&self, claim: &Claim, end: &Settlement, may_run: bool) -> Result<Step> {
        let blueprint = self.ctx.live.load_full();
        let mut asking = self.asking(&blueprint, may_run);
        let turn = self.settle_patiently(&claim.lease, end, &mut asking, blueprint.config.run.lease).await?;
        self.go_on(claim, end, &asking, turn).await
    }

    /// Goes on after a settlement was committed or (`None`) refused, since the lease had been lost.
    pub(super) async fn go_on(
        &self,
        claim: &Claim,
        end: &Settlement,
        asking: &Asking<'_>,
        turn: Option<Turn>,
    ) -> Result<Step> {
        let Some(turn) = turn else {
            let lease = &claim.lease;
            tracing::warn!(delivery = %lease.delivery, worker = lease.worker, outcome = end.outcome.class.as_str(),
                "an attempt ended after its delivery had been taken over; its outcome is dropped");
            return Ok(Step::Fenced);
        };
        self.ctx.figures.settled(&claim.destination, end, claim.received_at);
        let step = self.take(asking, turn).await?;
        if let (Step::Fenced, Work::Lane(lane)) = (&step, self.work) {
            // Another job parked the lane until our lease would end. That is now.
            lanes::bring_lane_forward(&mut *self.ctx.pool.acquire().await?, lane).await?;
            self.ctx.doorbell.ring();
        }
        Ok(step)
    }

    /// Settles, and tries again for as long as the lease may hold: the effect has happened, and a database that restarts
    /// meanwhile should not make it happen twice.
    async fn settle_patiently(
        &self,
        lease: &Lease,
        end: &Settlement,
        asking: &mut Asking<'_>,
        patience: Duration,
    ) -> Result<Option<Turn>> {
        let until = Instant::now() + patience;
        let mut has_failed = false;
        loop {
            match self.settle_once(lease, end, asking).await {
                // A commit that gave an error may have happened: then the delivery is settled, and by us.
                Ok(None) if has_failed => return Ok(Some(Turn::More)),
                Ok(turn) => return Ok(turn),
                Err(error) if Instant::now() >= until => return Err(error),
                Err(error) => {
                    tracing::debug!(delivery = %lease.delivery, %error, "an attempt was not settled; trying again");
                    has_failed = true;
                    // If it was the next delivery that could not be claimed, this one shall not suffer for it.
                    asking.may_run = false;
                    tokio::time::sleep(SETTLE_AGAIN).await;
                }
            }
        }
    }

    async fn settle_once(&self, lease: &Lease, end: &Settlement, asking: &Asking<'_>) -> Result<Option<Turn>> {
        crash_point("before_settle")?;
        let turn = turns::settle_and_next_turn(&mut *self.ctx.pool.acquire().await?, lease, end, asking).await?;
        crash_point("after_settle")?;
        Ok(turn)
    }

    /// What this job asks of the database at each turn.
    pub(super) fn asking<'a>(&'a self, blueprint: &'a Blueprint, may_run: bool) -> Asking<'a> {
        let Self { job, work, worker, .. } = *self;
        let Blueprint { config, known_destinations: destinations, rules, .. } = blueprint;
        Asking { job, work, worker, lease: config.run.lease, destinations, rules, may_run }
    }

    async fn ask(&self, asking: &Asking<'_>) -> Result<Turn> {
        turns::next_turn(&mut *self.ctx.pool.acquire().await?, asking).await
    }

    /// Turns an answer into a step, asking again for as long as it disposes of heads without running them.
    async fn take(&self, asking: &Asking<'_>, mut turn: Turn) -> Result<Step> {
        loop {
            turn = match turn {
                Turn::Run(claim) => return Ok(Step::Run(claim)),
                Turn::Retired => return Ok(Step::Retired),
                Turn::Blocked => return Ok(Step::Blocked),
                Turn::Fenced => return Ok(Step::Fenced),
                Turn::Wait(until) => return self.replace_job(RunAt::At(until), Step::Parked).await,
                Turn::More if !asking.may_run => return self.replace_job(RunAt::Now, Step::HandedOver).await,
                Turn::More => self.ask(asking).await?,
                Turn::Paused { until, route, destination } => return self.pause(until, &route, &destination).await,
                Turn::Unplaced { delivery, token, destination } => {
                    self.note_unplaced(delivery, token, &destination).await?;
                    return self.replace_job(RunAt::After(DESTINATION_WAIT), Step::Parked).await;
                }
                Turn::LeaseOver { delivery, token, route } => {
                    self.take_back(delivery, token, &route).await?;
                    self.ask(asking).await?
                }
                Turn::PayloadGone { lease, route, purpose } => {
                    let words = last_words(&self.ctx.config(), &route, purpose);
                    let mut conn = self.ctx.pool.acquire().await?;
                    let settled =
                        turns::settle_and_next_turn(&mut conn, &lease, &without_payload(words), asking).await?;
                    settled.unwrap_or(Turn::Fenced)
                }
            };
        }
    }

    /// Another process may know the destination, while a changed configuration is rolled out (pitfall B071): the delivery
    /// waits, and says why.
    async fn note_unplaced(&self, delivery: DeliveryRef, token: i32, destination: &str) -> Result<()> {
        let why = format!("this configuration has no destination {destination:?}; add it, or cancel the delivery");
        deliveries::note_waiting(&mut *self.ctx.pool.acquire().await?, delivery, token, &why).await
    }

    async fn take_back(&self, delivery: DeliveryRef, token: i32, route: &RouteName) -> Result<()> {
        let config = self.ctx.config();
        // A compensation leaves nothing behind, which the database sees to.
        let words = last_words(&config, route, Purpose::Deliver);
        let mut conn = self.ctx.pool.acquire().await?;
        let state = deliveries::take_back(&mut conn, delivery, token, config.run.crashes_max, &words).await?;
        tracing::warn!(%delivery, state = state.map(DeliveryState::as_str),
            "a worker died or lost its lease while it held a delivery");
        Ok(())
    }

    /// Parks the job until a resume brings it forward. One that came before the job was parked did not find it: so look again.
    async fn pause(&self, until: DateTime<Utc>, route: &str, destination: &str) -> Result<Step> {
        let fresh = JobId::new();
        let step = self.replace_job_with(fresh, RunAt::At(until), Step::Parked).await?;
        let mut conn = self.ctx.pool.acquire().await?;
        if bring_forward_if_resumed(&mut conn, fresh, route, destination).await? {
            self.ctx.doorbell.ring();
        }
        Ok(step)
    }

    async fn replace_job(&self, run_at: RunAt, then: Step) -> Result<Step> {
        self.replace_job_with(JobId::new(), run_at, then).await
    }

    async fn replace_job_with(&self, fresh: JobId, run_at: RunAt, then: Step) -> Result<Step> {
        let old = self.job.to_string();
        let mut conn = self.ctx.pool.acquire().await?;
        crash_point("before_next_job")?;
        let is_done = match self.work {
            Work::Lane(lane) => lanes::replace_lane_job(&mut conn, lane, &old, fresh, run_at).await?,
            Work::Delivery(delivery) => deliveries::replace_lone_job(&mut conn, *delivery, &old, fresh, run_at).await?,
        };
        crash_point("after_next_job")?;
        if is_done && run_at == RunAt::Now {
            self.ctx.doorbell.ring();
        }
        Ok(if is_done { then } else { Step::Fenced })
    }
}

fn without_payload(last_words: LastWords) -> Settlement {
    let reason = "payload was pruned: retention.payloads had passed before this delivery came to its turn".to_owned();
    let outcome = Outcome { class: OutcomeClass::Rejected, reason: reason.clone(), answer: None, retry_after: None };
    Settlement {
        state: DeliveryState::Dead,
        delay: Duration::ZERO,
        last_error: Some(reason),
        outcome,
        took: Duration::ZERO,
        last_words: Some(last_words),
    }
}
