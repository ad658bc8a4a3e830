//! Rust handlers: what a program that embeds Oncehook runs for a delivery, in the transaction that settles it. Takes that
//! transaction's connection and the delivery; never commits.
//!
//! ```no_run
//! use oncehook::handler::{Delivery, HandlerError, Handlers};
//! use sqlx::PgConnection;
//!
//! async fn enter(conn: &mut PgConnection, delivery: &Delivery) -> Result<(), HandlerError> {
//!     let amount = delivery.json()?["data"]["object"]["amount_paid"].as_i64();
//!     let amount = amount.ok_or_else(|| HandlerError::reject("the invoice has no amount_paid"))?;
//!     sqlx::query("insert into ledger.entries (delivery, amount) values ($1, $2)")
//!         .bind(delivery.idempotency_key())
//!         .bind(amount)
//!         .execute(conn)
//!         .await?;
//!     Ok(())
//! }
//!
//! let handlers = Handlers::new().on("books", enter);
//! ```
//!
//! The configuration says `kind = "handler"` for the destination `books`. docs/handlers.md tells the rest.

mod delivery;
mod error;

use std::{collections::BTreeMap, fmt, sync::Arc};

use futures_util::future::BoxFuture;
use sqlx::PgConnection;

pub(crate) use self::error::Kind;
pub use self::{delivery::Delivery, error::HandlerError};
use crate::{
    config::{Config, DestinationKind},
    domain::DestinationName,
};

/// What a delivery does. Async functions with its two parameters are handlers; implement it for what has a state.
pub trait Handler: Send + Sync + 'static {
    /// One attempt. `conn` is inside of the transaction that settles the delivery, behind a savepoint: an error undoes what it
    /// did, success commits it together with the delivery's end. It must not commit or roll that transaction back; its own
    /// `conn.begin()` makes a savepoint.
    fn handle<'a>(
        &'a self,
        conn: &'a mut PgConnection,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<(), HandlerError>>;
}

/// An async function as it looks for one lifetime: stable Rust cannot name its future otherwise.
pub trait AsyncHandler<'a>: Send + Sync {
    /// What it gives when it is called.
    type Future: Future<Output = Result<(), HandlerError>> + Send + 'a;

    /// Calls it.
    fn call(&self, conn: &'a mut PgConnection, delivery: &'a Delivery) -> Self::Future;
}

impl<'a, F, Answer> AsyncHandler<'a> for F
where
    F: Fn(&'a mut PgConnection, &'a Delivery) -> Answer + Send + Sync,
    Answer: Future<Output = Result<(), HandlerError>> + Send + 'a,
{
    type Future = Answer;

    fn call(&self, conn: &'a mut PgConnection, delivery: &'a Delivery) -> Answer {
        self(conn, delivery)
    }
}

impl<F> Handler for F
where
    F: for<'a> AsyncHandler<'a> + 'static,
{
    fn handle<'a>(
        &'a self,
        conn: &'a mut PgConnection,
        delivery: &'a Delivery,
    ) -> BoxFuture<'a, Result<(), HandlerError>> {
        Box::pin(self.call(conn, delivery))
    }
}

/// The handlers of a program, by the destination that each is for. Cloning it shares them.
#[derive(Clone, Default)]
pub struct Handlers(BTreeMap<String, Arc<dyn Handler>>);

impl Handlers {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the handler of a destination of kind "handler", in place of one that it had.
    #[must_use]
    pub fn on(mut self, destination: impl Into<String>, handler: impl Handler) -> Self {
        self.0.insert(destination.into(), Arc::new(handler));
        self
    }

    /// The handler of a destination.
    #[must_use]
    pub fn get(&self, destination: &DestinationName) -> Option<&Arc<dyn Handler>> {
        self.0.get(destination.as_str())
    }

    /// Destinations that need a handler and have none: a reason not to start.
    #[must_use]
    pub fn missing(&self, config: &Config) -> Vec<DestinationName> {
        let needed = config.destinations.values().filter(|end| matches!(end.kind, DestinationKind::Handler(_)));
        needed.map(|end| end.name.clone()).filter(|name| self.get(name).is_none()).collect()
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
