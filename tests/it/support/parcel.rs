//! What an attempt is made with: a destination's settings, a parcel, and the destinations of one kind.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use oncehook::{
    clock::Clock,
    config::{Destination, DestinationKind, HttpDestination},
    deliver::{Destinations, Parcel},
    domain::{DeliveryId, DeliveryRef, DestinationName, EventType, Headers, OrderingKey, ReceiptId},
};

/// Long enough to be no matter of timing for what is to succeed.
pub const AMPLE: Duration = Duration::from_secs(60);

pub fn settings(url: url::Url) -> HttpDestination {
    HttpDestination {
        url,
        connect_timeout: AMPLE,
        first_byte_timeout: AMPLE,
        timeout: AMPLE,
        secret: None,
        retry_statuses: vec![],
    }
}

pub fn name() -> DestinationName {
    "deployer".parse().unwrap()
}

pub fn destinations(kind: DestinationKind, clock: &Clock) -> Destinations {
    Destinations::new(
        &BTreeMap::from([(name(), Destination { name: name(), kind, concurrency: None, pace: None })]),
        clock,
    )
    .unwrap()
}

pub fn parcel() -> Parcel {
    let headers: Headers = [("content-type", "application/json"), ("x-github-event", "push")].into_iter().collect();
    Parcel {
        delivery: DeliveryRef::new(),
        attempt: 1,
        source: "github".parse().unwrap(),
        receipt: ReceiptId::new(),
        delivery_id: DeliveryId::parse(b"72d3162e-cc78-11e3-81ab-4c9367dc0958").unwrap(),
        event_type: EventType::new("push"),
        ordering_key: Some(OrderingKey::new("repository/1")),
        event_time: None,
        received_at: Clock::system().now(),
        headers,
        body: Bytes::from_static(b"{\"ref\": \"refs/heads/main\"}\n"),
        is_stale: false,
    }
}
