//! Deliver: takes a parcel and a destination's name, gives how the attempt ended. Never tries again, never writes to the
//! database, never panics over what a destination does: `run` decides and settles.

mod command;
mod database_error;
mod handler;
mod http;
mod live;
mod log;
mod outcome;
mod parcel;
mod signature;
mod sql;

use std::collections::BTreeMap;

use bytes::Bytes;
use sqlx::PgConnection;

pub use live::LiveDestinations;
pub use parcel::Parcel;
pub(crate) use sql::what_a_function_lacks;

use crate::{
    clock::Clock,
    config::{Destination, DestinationKind},
    domain::{DestinationName, Outcome, OutcomeClass},
};

/// Every configured destination, ready to take parcels. Built once for a configuration: it holds the connections.
#[derive(Debug)]
pub struct Destinations {
    by_name: BTreeMap<DestinationName, Kind>,
}

/// A destination that is ready. A new kind is one variant here, one in `config` and one file beside this one.
#[derive(Debug)]
enum Kind {
    Log,
    Http(Box<http::Http>),
    Command(command::Command),
    Sql(sql::Sql),
    /// Its handler is in the program and not in the configuration: see `live`.
    Handler,
}

/// Why a destination cannot be made ready.
#[derive(Debug, thiserror::Error)]
#[error("destination {destination}: {problem}")]
pub struct DestinationError {
    destination: DestinationName,
    problem: String,
}

impl Destinations {
    /// Makes every destination ready. Connects nowhere yet. `clock` stamps the signatures.
    ///
    /// # Errors
    /// When an HTTPS destination has no certificate authorities to trust on this machine.
    pub fn new(configured: &BTreeMap<DestinationName, Destination>, clock: &Clock) -> Result<Self, DestinationError> {
        let mut by_name = BTreeMap::new();
        for (name, destination) in configured {
            let kind = match &destination.kind {
                DestinationKind::Log => Kind::Log,
                DestinationKind::Http(settings) => {
                    let http = http::Http::new(settings.clone(), clock.clone())
                        .map_err(|problem| DestinationError { destination: name.clone(), problem })?;
                    Kind::Http(Box::new(http))
                }
                DestinationKind::Sql(settings) => Kind::Sql(sql::Sql::new(settings.clone())),
                DestinationKind::Handler(_) => Kind::Handler,
                DestinationKind::Command(settings) => Kind::Command(command::Command::new(settings.clone())),
            };
            by_name.insert(name.clone(), kind);
        }
        Ok(Self { by_name })
    }

    /// Makes one attempt. It ends within the destination's own time-outs. Dropping the future gives the attempt up; what
    /// has been sent by then stays sent.
    pub async fn deliver(&self, destination: &DestinationName, parcel: &Parcel) -> Outcome {
        match self.by_name.get(destination) {
            Some(Kind::Log) => log::write(destination, parcel),
            Some(Kind::Http(http)) => http.post(parcel).await,
            Some(Kind::Command(command)) => command.run(parcel).await,
            Some(Kind::Sql(_) | Kind::Handler) => {
                database_error::ended(OutcomeClass::Failed, "the destination's kind was changed meanwhile")
            }
            // Failed and not rejected: another node may already have the configuration that names it.
            None => Outcome {
                class: OutcomeClass::Failed,
                reason: format!(
                    "found no destination named {destination:?} in the configuration: add [destinations.{destination}], or \
                     cancel the delivery"
                ),
                answer: None,
                retry_after: None,
            },
        }
    }

    /// Makes one attempt inside of a transaction, at a destination of kind "sql".
    async fn call(
        &self,
        destination: &DestinationName,
        conn: &mut PgConnection,
        parcel: &Parcel,
        payload: &Bytes,
    ) -> Outcome {
        match self.by_name.get(destination) {
            Some(Kind::Sql(sql)) => sql.call(conn, parcel, payload).await,
            _ => database_error::ended(OutcomeClass::Failed, "the destination's kind was changed meanwhile"),
        }
    }
}
