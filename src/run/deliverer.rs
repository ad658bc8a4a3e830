//! The seam to `deliver`: the one thing that `run` asks of the outside world. It never retries and never settles.

use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use crate::{
    domain::{Outcome, OutcomeClass},
    store::deliveries::Claim,
};

/// Takes one delivery to its destination, once.
pub trait Deliverer: Send + Sync + 'static {
    /// One attempt. It never panics and always ends; `run` stands by with a time limit and a catch all the same.
    fn deliver<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Outcome>;

    /// Whether the effect is in this database, so that it shares a transaction with its settlement: then
    /// [`deliver_within`](Self::deliver_within) is called instead.
    fn is_transactional(&self, claim: &Claim) -> bool {
        let _ = claim;
        false
    }

    /// One attempt inside of a transaction, behind a savepoint: what did not succeed is undone. It leaves no check of a
    /// constraint to the commit.
    fn deliver_within<'a>(&'a self, conn: &'a mut PgConnection, claim: &'a Claim) -> BoxFuture<'a, Outcome> {
        let _ = conn;
        let reason = format!("destination {} has no effect in this database", claim.destination);
        Box::pin(async { Outcome { class: OutcomeClass::Failed, reason, answer: None, retry_after: None } })
    }
}
