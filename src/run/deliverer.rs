//! The seam to `deliver`: the one thing that `run` asks of the outside world. It never writes to the database and never
//! retries.

use futures_util::future::BoxFuture;

use crate::{domain::Outcome, store::deliveries::Claim};

/// Takes one delivery to its destination, once.
pub trait Deliverer: Send + Sync + 'static {
    /// One attempt. It never panics and always ends; `run` stands by with a time limit and a catch all the same.
    fn deliver<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Outcome>;
}
