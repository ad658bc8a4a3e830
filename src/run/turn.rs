//! One look at a lane (or at a delivery without one) by the job that came for it, inside the caller's transaction: whose
//! turn is it, and if it is nobody's now, what becomes of the job. Never runs an effect.

use std::time::Duration;

use sqlx::PgConnection;

use super::Context;
use crate::{
    domain::{DeliveryState, JobId, Outcome, OutcomeClass},
    store::{
        Result, deliveries,
        deliveries::{Claim, Claimed, Head, Lease, Settlement},
        jobs,
        jobs::{RunAt, Work},
        lanes,
        lanes::LaneView,
    },
};

/// What the job does next.
#[derive(Debug)]
pub(super) enum Turn {
    /// Run this one.
    Run(Box<Claim>),
    /// Something was recorded meanwhile: look again, in a new transaction.
    Again,
    /// Stop: a job for later has taken its place.
    Parked,
    /// Stop: a fresh job has taken its place.
    HandedOver,
    /// Stop: nothing is left, and the job is deleted.
    Retired,
    /// Stop: the lane belongs to another job.
    Fenced,
}

/// How long a delivery waits for a destination that this process's configuration does not have.
const DESTINATION_WAIT: Duration = Duration::from_secs(30);

/// Deliveries that one transaction may dispose of without running them. More are left to a fresh job.
const DISPOSED_MAX: usize = 64;

/// Whose turn is it? Claims it, or disposes of the job.
pub(super) async fn next_turn(
    ctx: &Context,
    conn: &mut PgConnection,
    work: &Work,
    job: JobId,
    worker: &str,
) -> Result<Turn> {
    for _ in 0..DISPOSED_MAX {
        let head = match look(conn, work, job).await? {
            LaneView::NotMine => return Ok(Turn::Fenced),
            LaneView::Empty if retire(conn, work, job).await? => return Ok(Turn::Retired),
            LaneView::Empty => return Ok(Turn::Again),
            LaneView::Head(head) => head,
        };
        match consider(ctx, conn, &head, worker).await? {
            Verdict::Run(claim) => return Ok(Turn::Run(claim)),
            Verdict::Disposed => {}
            Verdict::Wait(run_at) => return replace(conn, work, job, run_at, Turn::Parked).await,
        }
    }
    leave(conn, work, job).await
}

/// Ends the job in good order although its lane may have more: the budget is spent, or the process stops.
pub(super) async fn leave(conn: &mut PgConnection, work: &Work, job: JobId) -> Result<Turn> {
    if retire(conn, work, job).await? {
        return Ok(Turn::Retired);
    }
    replace(conn, work, job, RunAt::Now, Turn::HandedOver).await
}

async fn look(conn: &mut PgConnection, work: &Work, job: JobId) -> Result<LaneView> {
    match work {
        Work::Lane(lane) => lanes::lock_lane_head(conn, lane, job).await,
        Work::Delivery(delivery) => {
            let head = deliveries::lock_lone_delivery(conn, *delivery, job).await?;
            Ok(head.map_or(LaneView::Empty, LaneView::Head))
        }
    }
}

enum Verdict {
    Run(Box<Claim>),
    Disposed,
    Wait(RunAt),
}

async fn consider(ctx: &Context, conn: &mut PgConnection, head: &Head, worker: &str) -> Result<Verdict> {
    let config = ctx.config.load();
    if head.state == DeliveryState::Running.as_str() {
        return match head.lease_expires_at {
            Some(until) if !head.lease_is_over => Ok(Verdict::Wait(RunAt::At(until))),
            _ => take_back(conn, head, config.run.crashes_max).await,
        };
    }
    if !head.is_due {
        return Ok(Verdict::Wait(RunAt::At(head.due_at)));
    }
    if !config.destinations.keys().any(|name| name.as_str() == head.destination) {
        // Another process may know it, while a changed configuration is rolled out (pitfall B071).
        let why =
            format!("this configuration has no destination {:?}; add it, or cancel the delivery", head.destination);
        deliveries::note_waiting(conn, head, &why).await?;
        return Ok(Verdict::Wait(RunAt::After(DESTINATION_WAIT)));
    }
    match deliveries::claim_head(conn, head, worker, config.run.lease).await? {
        Claimed::Whole(claim) => Ok(Verdict::Run(claim)),
        Claimed::PayloadGone(lease) => {
            bury_without_payload(conn, &lease).await?;
            Ok(Verdict::Disposed)
        }
    }
}

async fn take_back(conn: &mut PgConnection, head: &Head, crashes_max: i32) -> Result<Verdict> {
    let state = deliveries::take_back(conn, head, crashes_max).await?;
    tracing::warn!(delivery = %head.delivery, state = state.map(DeliveryState::as_str),
        "a worker died or lost its lease while it held a delivery");
    Ok(Verdict::Disposed)
}

async fn bury_without_payload(conn: &mut PgConnection, lease: &Lease) -> Result<()> {
    let outcome = Outcome {
        class: OutcomeClass::Rejected,
        reason: "payload was pruned: retention.payloads had passed before this delivery came to its turn".to_owned(),
        answer: None,
        retry_after: None,
    };
    let end = Settlement { state: DeliveryState::Dead, delay: Duration::ZERO, outcome, took: Duration::ZERO };
    deliveries::settle_delivery(conn, lease, &end).await?;
    Ok(())
}

/// Invariant: a lane's row goes exactly when its last delivery is finished, together with its job.
async fn retire(conn: &mut PgConnection, work: &Work, job: JobId) -> Result<bool> {
    fail::fail_point!("before_retire");
    match work {
        Work::Lane(lane) => {
            Ok(lanes::lock_lane(conn, lane, job).await? && lanes::delete_lane_if_empty(conn, lane, job).await?)
        }
        Work::Delivery(delivery) => {
            // It is ours no more, or finished: nobody can add to it, so one look is enough.
            let is_over = deliveries::lock_lone_delivery(conn, *delivery, job).await?.is_none();
            if is_over {
                jobs::delete_job(conn, job).await?;
            }
            Ok(is_over)
        }
    }
}

async fn replace(conn: &mut PgConnection, work: &Work, job: JobId, run_at: RunAt, then: Turn) -> Result<Turn> {
    let (old, fresh) = (job.to_string(), JobId::new());
    let is_done = match work {
        Work::Lane(lane) => lanes::replace_lane_job(conn, lane, &old, fresh, run_at).await?,
        Work::Delivery(delivery) => deliveries::replace_lone_job(conn, *delivery, &old, fresh, run_at).await?,
    };
    Ok(if is_done { then } else { Turn::Fenced })
}
