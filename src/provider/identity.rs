//! Identities: what a verified request says about its event. Takes provider, headers and body, gives an [`Identity`];
//! never fails over what the JSON holds, since a genuine sender cannot do anything about a 4xx.

use bytes::Bytes;

use super::{Provider, api, github, standard_webhooks, stripe};
use crate::domain::{DeliveryId, DeliveryIdError, Digest, EventTime, EventType, Flag, Headers, OrderingKey, Version};

/// What a verified request says about its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The provider's own id of the event. It never depends on the time, the peer or this node.
    pub delivery_id: DeliveryId,
    /// The hook that sent it, where the provider says so: 1 to 255 bytes of visible ASCII.
    pub hook_id: Option<String>,
    /// What kind of event.
    pub event_type: EventType,
    /// What it is about: events about the same thing have the same key. docs/providers.md lists them.
    pub ordering_key: Option<OrderingKey>,
    /// When it happened, by the provider's clock, to the microsecond.
    pub event_time: Option<EventTime>,
    /// Where it stands in its subject's history. docs/ordering.md lists them.
    pub version: Option<Version>,
    /// Digest of the body as it came.
    pub body_digest: Digest,
    /// Digest of what stays the same when the provider sends the event again.
    pub normalised_digest: Digest,
    /// Remarks for the operator.
    pub flags: Vec<Flag>,
    /// Where the JSON is.
    pub payload: PayloadForm,
}

/// Where the JSON of a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadForm {
    /// The body itself.
    Body(Bytes),
    /// The form field `payload`, decoded.
    FormField(Bytes),
    /// Nowhere: the body holds no JSON that `serde_json::Value` could take. A flag `unparseable: …` says why.
    Opaque,
}

/// Why a request has no identity. Each is the sender's mistake, and a 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentifyError {
    /// The header that carries the delivery id is not there.
    #[error(
        "there is no {header} header, which tells one event from another: send it with an id of its own for each event"
    )]
    DeliveryIdMissing {
        /// The header that was looked for.
        header: &'static str,
    },
    /// It is there more than once.
    #[error("the header {header} stands more than once: send it once")]
    DeliveryIdRepeated {
        /// The repeated header.
        header: &'static str,
    },
    /// It holds something that is no id.
    #[error("the header {header} is not usable: {why}; send 1 to 255 visible ASCII characters")]
    DeliveryIdUnusable {
        /// The header that was read.
        header: &'static str,
        /// What is wrong with it; the message holds it, so it is no source.
        why: DeliveryIdError,
    },
    /// It has the form of the ids that Oncehook gives.
    #[error("the key begins with rcp_ like the ids of receipts, which name what there is: send a key of your own")]
    DeliveryIdReserved,
    /// A header that counts stands there more than once.
    #[error("the header {header} stands more than once: send it once")]
    HeaderRepeated {
        /// The repeated header.
        header: &'static str,
    },
    /// A form-encoded body has no field `payload`.
    #[error(
        "the form-encoded body has no field \"payload\": send the JSON in it, or as the body with application/json"
    )]
    PayloadFieldMissing,
}

/// Tells what event a verified request is about. Pure: the same request has the same identity always and everywhere.
///
/// # Errors
/// When the header with the delivery id is missing, repeated or unusable (GitHub, Standard Webhooks, `api`), and when a
/// form-encoded body has no `payload` field. What the JSON holds is never an error: what cannot be read is flagged.
pub fn identify(provider: Provider, headers: &Headers, body: &Bytes) -> Result<Identity, IdentifyError> {
    match provider {
        Provider::GitHub => github::identify(headers, body),
        Provider::Stripe => Ok(stripe::identify(body)),
        Provider::StandardWebhooks => standard_webhooks::identify(headers, body),
        Provider::Api => api::identify(headers, body),
    }
}

/// The JSON of a stored request, and nothing else of its identity: the body, or the form field that GitHub puts it into.
///
/// It may be no JSON at all; then it is the body. A body that is no form is shared, not copied.
#[must_use]
pub fn json_of(provider: Provider, headers: &Headers, body: &Bytes) -> Bytes {
    let field = if provider == Provider::GitHub { github::form_json(headers, body) } else { None };
    field.unwrap_or_else(|| body.clone())
}

impl Identity {
    /// The JSON of the request: `None` when there is none that `serde_json::Value` could take. The bytes are shared, not
    /// copied.
    #[must_use]
    pub fn json(&self) -> Option<Bytes> {
        match &self.payload {
            PayloadForm::Body(json) | PayloadForm::FormField(json) => Some(json.clone()),
            PayloadForm::Opaque => None,
        }
    }
}

/// Reads a delivery id from a header that must stand exactly once.
pub(super) fn delivery_id_of(headers: &Headers, header: &'static str) -> Result<DeliveryId, IdentifyError> {
    let mut values = headers.all(header);
    let value = values.next().ok_or(IdentifyError::DeliveryIdMissing { header })?;
    if values.next().is_some() {
        return Err(IdentifyError::DeliveryIdRepeated { header });
    }
    DeliveryId::parse(value).map_err(|why| IdentifyError::DeliveryIdUnusable { header, why })
}
