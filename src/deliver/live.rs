//! The destinations of the configuration of this moment, as `run` calls them.

use futures_util::future::BoxFuture;

use super::Parcel;
use crate::{blueprint::Live, domain::Outcome, run::Deliverer, store::deliveries::Claim};

/// Takes each delivery to the destination that the configuration names now.
pub struct LiveDestinations(pub Live);

impl Deliverer for LiveDestinations {
    fn deliver<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Outcome> {
        let blueprint = self.0.load_full();
        let parcel = parcel(claim);
        Box::pin(async move { blueprint.destinations.deliver(&claim.destination, &parcel).await })
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
