//! The built-in source `outbox`: takes what a transaction wrote to be published, gives the event's identity. What is odd
//! about it is cleaned or flagged and never refused: nobody is left to be told.

use bytes::Bytes;

use super::{
    identity::{Identity, PayloadForm},
    json,
};
use crate::domain::{DeliveryId, Digest, EventType, OrderingKey};

/// Identifies the row `id`. The delivery id is made of nothing else: a row is one event, however often it is looked at.
///
/// There is no event time: what a row has is the time at which its transaction began, and a later transaction may have
/// begun earlier. The order of the outbox is the order in which its rows are published.
#[must_use]
pub fn identify_outbox(id: i64, event_type: &str, ordering_key: Option<&str>, payload: &Bytes) -> Identity {
    let reading = json::read(payload, []);
    let body_digest = Digest::of(payload);
    Identity {
        delivery_id: DeliveryId::parse(format!("outbox-{id}").as_bytes()).expect("it is short visible ASCII"),
        hook_id: None,
        event_type: EventType::new(event_type),
        ordering_key: ordering_key.map(OrderingKey::new),
        event_time: None,
        version: None,
        body_digest,
        normalised_digest: body_digest,
        payload: if reading.is_usable { PayloadForm::Body(payload.clone()) } else { PayloadForm::Opaque },
        flags: reading.flags,
    }
}
