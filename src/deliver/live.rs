//! The destinations of the configuration of this moment, as `run` calls them.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use sqlx::PgConnection;

use super::{
    Parcel,
    database_error::{ended, of_effect},
    handler,
};
use crate::{
    blueprint::{Blueprint, Live},
    config::DestinationKind,
    domain::{Outcome, OutcomeClass},
    handler::{Delivery, Handlers},
    provider,
    run::Deliverer,
    store::{deliveries::Claim, effects},
};

/// Takes each delivery to the destination that the configuration names now.
#[derive(Debug)]
pub struct LiveDestinations {
    live: Live,
    handlers: Handlers,
}

impl LiveDestinations {
    /// `handlers` are those of the program that embeds Oncehook.
    #[must_use]
    pub fn new(live: Live, handlers: Handlers) -> Self {
        Self { live, handlers }
    }

    async fn deliver_within(&self, blueprint: Arc<Blueprint>, conn: &mut PgConnection, claim: &Claim) -> Outcome {
        let (parcel, json) = (parcel(claim), json_of(&blueprint, claim));
        let destination = &claim.destination;
        let (outcome, timeout) = match blueprint.config.destinations.get(destination).map(|end| &end.kind) {
            Some(DestinationKind::Handler(settings)) => match self.handlers.get(destination) {
                Some(handler) => {
                    let delivery = Delivery::new(parcel, json);
                    (handler::run(handler.as_ref(), conn, &delivery, settings.timeout).await, settings.timeout)
                }
                None => return ended(OutcomeClass::Failed, &no_handler(destination)),
            },
            Some(DestinationKind::Sql(settings)) => {
                (blueprint.destinations.call(destination, conn, &parcel, &json).await, settings.timeout)
            }
            _ => return ended(OutcomeClass::Failed, "the destination's kind was changed meanwhile"),
        };
        if outcome.class != OutcomeClass::Succeeded {
            return outcome;
        }
        // While the role of the effect still holds, so that its triggers run under it and not as ourselves.
        match effects::check_constraints(conn).await {
            Ok(()) => outcome,
            Err(error) => of_effect(&error, timeout),
        }
    }
}

impl Deliverer for LiveDestinations {
    fn deliver<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Outcome> {
        let blueprint = self.live.load_full();
        let parcel = parcel(claim);
        Box::pin(async move { blueprint.destinations.deliver(&claim.destination, &parcel).await })
    }

    fn is_transactional(&self, claim: &Claim) -> bool {
        let blueprint = self.live.load();
        let kind = blueprint.config.destinations.get(&claim.destination).map(|end| &end.kind);
        matches!(kind, Some(DestinationKind::Sql(_) | DestinationKind::Handler(_)))
    }

    fn deliver_within<'a>(&'a self, conn: &'a mut PgConnection, claim: &'a Claim) -> BoxFuture<'a, Outcome> {
        Box::pin(self.deliver_within(self.live.load_full(), conn, claim))
    }
}

fn no_handler(destination: &crate::domain::DestinationName) -> String {
    format!("found no Rust handler named {destination:?} in this program: register one with Handlers::on")
}

/// By the source's provider of this moment; a source that the configuration has no more gives its body as it came.
fn json_of(blueprint: &Blueprint, claim: &Claim) -> Bytes {
    match blueprint.config.sources.get(&claim.source) {
        Some(source) => provider::json_of(source.provider, &claim.headers, &claim.body),
        None => claim.body.clone(),
    }
}

fn parcel(claim: &Claim) -> Parcel {
    Parcel {
        delivery: claim.lease.delivery,
        attempt: claim.lease.token,
        source: claim.source.clone(),
        receipt: claim.receipt,
        delivery_id: claim.delivery_id.clone(),
        event_type: claim.event_type.clone(),
        ordering_key: claim.ordering_key.clone(),
        event_time: claim.event_time,
        received_at: claim.received_at,
        headers: claim.headers.clone(),
        body: claim.body.clone(),
        is_stale: claim.is_stale,
    }
}
