//! One attempt of a claimed delivery: the effect, with nothing of the database held while it lasts but a lease that is
//! renewed. Gives the outcome, whatever the deliverer does, and never writes it.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use futures_util::FutureExt as _;
use tokio::time::{MissedTickBehavior, interval_at, timeout};

use super::{Context, settlement::unknown};
use crate::{
    config::DestinationKind,
    crash_point::crash_point,
    domain::Outcome,
    store::deliveries::{Claim, Lease, renew_lease},
};

/// How an attempt ended.
pub(super) enum Ended {
    /// By itself.
    With(Outcome),
    /// Not within its time, and was dropped.
    Overdue(Duration),
    /// With a panic, which said this.
    Panicked(String),
    /// A shutdown dropped it.
    Interrupted,
}

/// What a deliverer gets beyond its own time-outs before it counts as hung.
pub(super) const TIME_LIMIT_MARGIN: Duration = Duration::from_secs(5);

/// Runs an effect to its end. Returns how it ended and how long that took.
pub(super) async fn run_attempt(
    ctx: &Context,
    claim: &Claim,
    effect: impl Future<Output = Outcome>,
) -> (Ended, Duration) {
    let begun = Instant::now();
    if crash_point("before_effect").is_err() {
        return (
            Ended::With(unknown("the connection broke before the destination heard of it".to_owned())),
            begun.elapsed(),
        );
    }
    let limit = time_limit(ctx, claim);
    let effect = AssertUnwindSafe(effect).catch_unwind();
    let ended = tokio::select! {
        biased;
        outcome = timeout(limit, effect) => match outcome {
            Ok(Ok(outcome)) => Ended::With(outcome),
            Ok(Err(panic)) => Ended::Panicked(words_of(panic.as_ref())),
            Err(_) => Ended::Overdue(limit),
        },
        () = ctx.stop.letting_go() => Ended::Interrupted,
        () = keep_lease(ctx, &claim.lease) => unreachable!("a lease is kept for as long as the attempt lasts"),
    };
    if crash_point("after_effect").is_err() {
        return (Ended::With(unknown("the answer was lost".to_owned())), begun.elapsed());
    }
    (ended, begun.elapsed())
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("nothing").to_owned()
}

fn time_limit(ctx: &Context, claim: &Claim) -> Duration {
    let config = ctx.config();
    match config.destinations.get(&claim.destination).map(|destination| &destination.kind) {
        Some(DestinationKind::Http(http)) => http.timeout + TIME_LIMIT_MARGIN,
        Some(DestinationKind::Command(command)) => command.timeout + TIME_LIMIT_MARGIN,
        Some(DestinationKind::Sql(sql)) => sql.timeout + TIME_LIMIT_MARGIN,
        // Its time-out is this one, since the database sees only its statements.
        Some(DestinationKind::Handler(handler)) => handler.timeout,
        Some(DestinationKind::Log) | None => TIME_LIMIT_MARGIN,
    }
}

/// Renews the lease until the attempt is over. A lease that is lost stays lost; the effect is on its way and goes on,
/// and its token keeps it from being settled over somebody else's.
async fn keep_lease(ctx: &Context, lease: &Lease) {
    let run = ctx.config().run.clone();
    let mut beat = interval_at(tokio::time::Instant::now() + run.heartbeat, run.heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let renewed = match ctx.pool.acquire().await {
            Ok(mut conn) => renew_lease(&mut conn, lease, run.lease).await,
            Err(error) => Err(error.into()),
        };
        match renewed {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(delivery = %lease.delivery, worker = lease.worker, "the lease was lost while its attempt ran");
                std::future::pending::<()>().await;
            }
            Err(error) => tracing::debug!(delivery = %lease.delivery, %error, "a lease was not renewed; trying again"),
        }
    }
}
