//! Parcels: what one attempt sends, with everything that a destination may be told. Never holds more than that, and no
//! secrets.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::domain::{DeliveryId, DeliveryRef, EventType, Headers, OrderingKey, ReceiptId, SourceName};

/// One attempt's load. Cloning it does not copy the body.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// The delivery, and with that the idempotency key: the same on every attempt.
    pub delivery: DeliveryRef,
    /// Which attempt, from 1, counted over the delivery's whole life.
    pub attempt: i32,
    /// The way in.
    pub source: SourceName,
    /// The receipt.
    pub receipt: ReceiptId,
    /// The provider's own id of the event.
    pub delivery_id: DeliveryId,
    /// What kind of event.
    pub event_type: EventType,
    /// The lane; `None` with `order = "none"`.
    pub ordering_key: Option<OrderingKey>,
    /// When the event happened, by the provider's clock, where the provider says.
    pub event_time: Option<DateTime<Utc>>,
    /// When it came in, by the receiving node's clock.
    pub received_at: DateTime<Utc>,
    /// The header lines as stored with the receipt.
    pub headers: Headers,
    /// The body as it came, byte for byte.
    pub body: Bytes,
    /// Whether its lane had already applied something newer (`on_stale = "deliver"`).
    pub is_stale: bool,
}
