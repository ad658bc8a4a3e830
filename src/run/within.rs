//! The way of effects in this database: effect, settlement and the claim of the next delivery are one transaction. Takes a
//! claimed delivery, gives the next step. Whatever dies in the middle, either all of it is stored or nothing.
//!
//! The delivery's row is not locked while the effect lasts: the lease is renewed as for other effects, and a worker that was
//! paused for longer than its lease delays nobody. Its settlement finds another token, and with that its effect is undone.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, Postgres, Transaction};

use super::{
    Context,
    attempt::{Ended, TIME_LIMIT_MARGIN, run_attempt},
    settlement::settlement,
    turn::{Step, Turns},
};
use crate::{
    config::DestinationKind,
    crash_point::crash_point,
    domain::{Outcome, OutcomeClass},
    store::{
        Result,
        deliveries::{Claim, Lease, Settlement, renew_lease},
        effects::{self, Limits},
        turns,
        turns::{Asking, Turn},
    },
};

/// What became of an attempt.
enum Attempted {
    /// It is over, and the transaction is as it was before, with the effect in it if it succeeded.
    Done(Transaction<'static, Postgres>, Ended, Duration),
    /// It is over, and so is the transaction: nothing of it is stored.
    Undone(Ended, Duration),
    /// The lease was lost before it began.
    Fenced,
}

/// How often to ask whether a commit has happened, while the database does not answer.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Runs a delivery and settles it.
pub(super) async fn run_within(turns: &Turns<'_>, claim: &Claim, may_run: impl Fn() -> bool) -> Result<Step> {
    let (tx, ended, took) = match attempt(turns.ctx, claim).await {
        Attempted::Done(tx, ended, took) => (Some(tx), ended, took),
        Attempted::Undone(ended, took) => (None, ended, took),
        Attempted::Fenced => return turns.first().await,
    };
    let end = settlement(turns.ctx, claim, ended, took);
    let Some(tx) = tx else { return turns.settle(claim, &end, may_run()).await };
    let blueprint = turns.ctx.live.load_full();
    let asking = turns.asking(&blueprint, may_run());
    let error = match settle(tx, &claim.lease, &end, &asking).await {
        Ok(turn) => return turns.go_on(claim, &end, &asking, turn).await,
        Err(error) => error,
    };
    // Invariant: never run again without looking, since a commit that gave an error may have happened.
    tracing::debug!(delivery = %claim.lease.delivery, %error, "an effect may not be committed; looking");
    if !is_held_still(turns.ctx, &claim.lease).await? {
        return turns.first().await;
    }
    let outcome = failed(format!("its effect was undone, since the transaction could not be committed: {error}"));
    let end = settlement(turns.ctx, claim, Ended::With(outcome), took);
    turns.settle(claim, &end, false).await
}

/// Runs the effect in a transaction of its own, behind a savepoint.
async fn attempt(ctx: &Context, claim: &Claim) -> Attempted {
    let (mut tx, session) = match begin(ctx, claim).await {
        Ok((tx, Some(session))) => (tx, session),
        Ok((_, None)) => return Attempted::Fenced,
        Err(error) => {
            let outcome = failed(format!("its transaction could not begin: {error}"));
            return Attempted::Undone(Ended::With(outcome), Duration::ZERO);
        }
    };
    let (ended, took) = effect(ctx, claim, &mut tx).await;
    match ended {
        Ok(ended) => Attempted::Done(tx, ended, took),
        Err(ended) => {
            // What it left running on the server must not hold its locks until the server notices by itself.
            if let Err(error) = end_session(ctx, session).await {
                tracing::debug!(delivery = %claim.lease.delivery, %error, "the session of an effect was not ended");
            }
            Attempted::Undone(ended, took)
        }
    }
}

async fn begin(ctx: &Context, claim: &Claim) -> Result<(Transaction<'static, Postgres>, Option<i32>)> {
    let mut tx = ctx.pool.begin_with(effects::BEGIN).await?;
    let session = effects::begin(&mut tx, &claim.lease, limits(ctx, claim)).await?;
    Ok((tx, session))
}

fn limits(ctx: &Context, claim: &Claim) -> Limits {
    let config = ctx.config();
    match config.destinations.get(&claim.destination).map(|destination| &destination.kind) {
        // It may wait for something else between two statements.
        Some(DestinationKind::Handler(handler)) => {
            Limits { statement: handler.timeout, idle: handler.timeout + TIME_LIMIT_MARGIN }
        }
        Some(DestinationKind::Sql(sql)) => Limits { statement: sql.timeout, idle: config.run.lease },
        _ => Limits { statement: TIME_LIMIT_MARGIN, idle: config.run.lease },
    }
}

/// `Err`: the transaction is not usable any more.
async fn effect(
    ctx: &Context,
    claim: &Claim,
    tx: &mut Transaction<'static, Postgres>,
) -> (std::result::Result<Ended, Ended>, Duration) {
    let mut savepoint = match tx.begin().await {
        Ok(savepoint) => savepoint,
        Err(error) => return (Err(Ended::With(lost(&error))), Duration::ZERO),
    };
    let (ended, took) = run_attempt(ctx, claim, ctx.deliverer.deliver_within(&mut savepoint, claim)).await;
    let outcome = match ended {
        Ended::With(outcome) => outcome,
        Ended::Panicked(words) => failed(format!("panicked: {words}; what it did in the database is undone")),
        Ended::Overdue(limit) => {
            let reason = format!("did not end within {limit:?}; what it did in the database is undone");
            return (Err(Ended::With(failed(reason))), took);
        }
        Ended::Interrupted => return (Err(Ended::Interrupted), took),
    };
    let is_kept = outcome.class == OutcomeClass::Succeeded;
    let concluded = if is_kept { savepoint.commit().await } else { savepoint.rollback().await };
    let tidied = match concluded {
        Ok(()) => effects::tidy_session(tx, ctx.config().run.lease).await,
        Err(error) if has_no_savepoint(&error) => return (Err(Ended::With(broken_open())), took),
        Err(error) => Err(error.into()),
    };
    match tidied {
        Ok(()) => (Ok(Ended::With(outcome)), took),
        Err(error) if is_kept => (Err(Ended::With(lost(&error))), took),
        Err(_) => (Err(Ended::With(outcome)), took),
    }
}

async fn settle(
    mut tx: Transaction<'static, Postgres>,
    lease: &Lease,
    end: &Settlement,
    asking: &Asking<'_>,
) -> Result<Option<Turn>> {
    crash_point("before_settle")?;
    let settled = turns::settle_and_next_turn(&mut tx, lease, end, asking).await;
    if !matches!(settled, Ok(Some(_))) {
        tx.rollback().await?;
        return settled;
    }
    crash_point("before_commit")?;
    tx.commit().await?;
    crash_point("after_settle")?;
    settled
}

/// Whether the delivery is still ours to run: then nothing was committed. It waits for a commit that is under way, since
/// that holds the row; and for the database, for as long as the lease may last.
async fn is_held_still(ctx: &Context, lease: &Lease) -> Result<bool> {
    let limit = ctx.config().run.lease;
    let until = Instant::now() + limit;
    loop {
        let held = match ctx.pool.acquire().await {
            Ok(mut conn) => renew_lease(&mut conn, lease, limit).await,
            Err(error) => Err(error.into()),
        };
        match held {
            Err(_) if Instant::now() < until => tokio::time::sleep(LOOK_AGAIN).await,
            held => return held,
        }
    }
}

async fn end_session(ctx: &Context, session: i32) -> Result<()> {
    effects::end_session(&mut *ctx.pool.acquire().await?, session).await
}

/// Whether the transaction that the savepoint belonged to is over.
fn has_no_savepoint(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "25P01" | "3B001"))
}

fn failed(reason: String) -> Outcome {
    Outcome { class: OutcomeClass::Failed, reason, answer: None, retry_after: None }
}

fn lost(error: &impl std::fmt::Display) -> Outcome {
    let reason = format!("the connection to the database was lost, and its effect was undone: {error}");
    Outcome { class: OutcomeClass::Unknown, reason, answer: None, retry_after: None }
}

/// Rejected, since another attempt would do the same, and may have done it for good each time.
fn broken_open() -> Outcome {
    let reason =
        "ended the transaction that it runs in, so that its effect may be stored without the delivery's end: a \
                  handler must not commit or roll back; conn.begin() gives it a savepoint of its own"
            .to_owned();
    Outcome { class: OutcomeClass::Rejected, reason, answer: None, retry_after: None }
}
