//! The `handler` destination: runs a Rust handler once, in a transaction that is not its own. Never commits.

use std::time::Duration;

use sqlx::PgConnection;

use super::database_error::{ended, of_effect};
use crate::{
    domain::{Outcome, OutcomeClass},
    handler::{Delivery, Handler, HandlerError, Kind},
};

/// Makes one attempt.
pub(super) async fn run(
    handler: &dyn Handler,
    conn: &mut PgConnection,
    delivery: &Delivery,
    timeout: Duration,
) -> Outcome {
    match handler.handle(conn, delivery).await {
        Ok(()) => ended(OutcomeClass::Succeeded, "was taken by its handler"),
        Err(error) => of_handler(&error, timeout),
    }
}

fn of_handler(error: &HandlerError, timeout: Duration) -> Outcome {
    match &error.kind {
        Kind::Retry(reason) => ended(OutcomeClass::Failed, reason),
        Kind::Reject(reason) => ended(OutcomeClass::Rejected, reason),
        Kind::Other(error) => match error.downcast_ref() {
            Some(error) => of_effect(error, timeout),
            None => ended(OutcomeClass::Failed, &format!("failed: {error}")),
        },
    }
}
