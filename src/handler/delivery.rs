//! What a handler is told about its delivery: facts of the receipt and of the attempt, and the payload. Never any secrets.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::HandlerError;
use crate::{deliver::Parcel, domain::Headers};

/// One delivery, at one attempt.
#[derive(Debug, Clone)]
pub struct Delivery {
    parcel: Parcel,
    json: Bytes,
    idempotency_key: String,
    receipt: String,
}

impl Delivery {
    /// `json` is where the payload's JSON is: the body, or the form field that it came in.
    pub(crate) fn new(parcel: Parcel, json: Bytes) -> Self {
        let (idempotency_key, receipt) = (parcel.delivery.to_string(), parcel.receipt.to_string());
        Self { parcel, json, idempotency_key, receipt }
    }

    /// The receipt (`rcp_…`): the event that came in.
    #[must_use]
    pub fn receipt(&self) -> &str {
        &self.receipt
    }

    /// The delivery (`dlv_…`): this receipt for this route, the same at every attempt. What a handler does outside of the
    /// transaction should carry it.
    #[must_use]
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// Which attempt this is, from 1, over the delivery's whole life.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.parcel.attempt
    }

    /// The way in.
    #[must_use]
    pub fn source(&self) -> &str {
        self.parcel.source.as_str()
    }

    /// The provider's own id of the event.
    #[must_use]
    pub fn delivery_id(&self) -> &str {
        self.parcel.delivery_id.as_str()
    }

    /// What kind of event, such as `invoice.paid`.
    #[must_use]
    pub fn event_type(&self) -> &str {
        self.parcel.event_type.as_str()
    }

    /// What it waits for others by; `None` with `order = "none"`.
    #[must_use]
    pub fn ordering_key(&self) -> Option<&str> {
        self.parcel.ordering_key.as_ref().map(crate::domain::OrderingKey::as_str)
    }

    /// When it happened, by the provider's clock, where the provider says so.
    #[must_use]
    pub fn event_time(&self) -> Option<DateTime<Utc>> {
        self.parcel.event_time
    }

    /// When it came in.
    #[must_use]
    pub fn received_at(&self) -> DateTime<Utc> {
        self.parcel.received_at
    }

    /// Whether its lane has applied something newer (`on_stale = "deliver"`).
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.parcel.is_stale
    }

    /// The header lines that came in, without credentials.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.parcel.headers
    }

    /// The body that came in, byte for byte.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.parcel.body
    }

    /// The payload: the body as JSON, or the JSON in a form-encoded body. It is read at each call.
    ///
    /// # Errors
    /// A rejection, where it is no JSON: trying again would not change that.
    pub fn json(&self) -> Result<serde_json::Value, HandlerError> {
        serde_json::from_slice(&self.json)
            .map_err(|error| HandlerError::reject(format!("the payload is not readable as JSON: {error}")))
    }
}
