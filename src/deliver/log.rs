//! The `log` destination: takes a parcel, writes one line to Oncehook's own log. Never writes any of the payload.

use crate::domain::{DestinationName, OrderingKey, Outcome, OutcomeClass};

use super::Parcel;

/// Writes the line. It always succeeds.
pub(super) fn write(destination: &DestinationName, parcel: &Parcel) -> Outcome {
    // `?` quotes and escapes what others have written: an id or a key must not forge a second line.
    tracing::info!(
        delivery = %parcel.delivery,
        attempt = parcel.attempt,
        destination = %destination,
        source = %parcel.source,
        event = ?parcel.event_type.as_str(),
        receipt = %parcel.receipt,
        delivery_id = ?parcel.delivery_id.as_str(),
        ordering_key = ?parcel.ordering_key.as_ref().map(OrderingKey::as_str),
        body_bytes = parcel.body.len(),
        "delivered to the log"
    );
    Outcome {
        class: OutcomeClass::Succeeded,
        reason: "was written to the log".to_owned(),
        answer: None,
        retry_after: None,
    }
}
