//! The `log` destination: takes a parcel, writes one line to Oncehook's own log. Never writes any of the payload.

use crate::domain::{DestinationName, OrderingKey, Outcome, OutcomeClass};

use super::Parcel;

/// Writes the line. It always succeeds.
pub(super) fn write(destination: &DestinationName, parcel: &Parcel) -> Outcome {
    // Ids and types are visible ASCII by their own rules; a key is any text, and must not forge a second line.
    let ordering_key = parcel.ordering_key.as_ref().map_or("", OrderingKey::as_str);
    tracing::info!(
        delivery = %parcel.delivery,
        attempt = parcel.attempt,
        destination = %destination,
        source = %parcel.source,
        event = %parcel.event_type,
        receipt = %parcel.receipt,
        delivery_id = %parcel.delivery_id,
        ordering_key = %ordering_key.escape_debug(),
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
