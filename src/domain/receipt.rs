//! Receipts: durable records that an event came in.

use std::fmt;

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::{Digest, Fingerprint, Headers, OrderingKey, PlannedDelivery, ReceiptId, SourceName, Version};

/// The longest delivery id: it stands in an index, and real ones are below 100 bytes.
const DELIVERY_ID_LENGTH_MAX: usize = 255;

/// The longest event type that is kept; longer ones are cut.
const EVENT_TYPE_LENGTH_MAX: usize = 128;

/// The provider's own id of an event: `X-GitHub-Delivery`, `evt_…`, `webhook-id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

/// Why a delivery id was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryIdError {
    /// There is nothing in it.
    #[error("the delivery id is empty")]
    Empty,
    /// It is longer than 255 bytes.
    #[error("the delivery id is longer than 255 bytes")]
    TooLong,
    /// It holds something else than visible ASCII characters.
    #[error("the delivery id holds spaces, control characters or bytes that are not ASCII")]
    NotVisibleAscii,
}

impl DeliveryId {
    /// Takes 1 to 255 bytes of visible ASCII.
    ///
    /// # Errors
    /// When the bytes are anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, DeliveryIdError> {
        if bytes.is_empty() {
            return Err(DeliveryIdError::Empty);
        }
        if bytes.len() > DELIVERY_ID_LENGTH_MAX {
            return Err(DeliveryIdError::TooLong);
        }
        if !bytes.iter().all(u8::is_ascii_graphic) {
            return Err(DeliveryIdError::NotVisibleAscii);
        }
        Ok(Self(String::from_utf8_lossy(bytes).into_owned()))
    }

    /// The id as the provider wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of event: `push`, `pull_request.opened`, `invoice.paid`. Visible ASCII, at most 128 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct EventType(String);

impl EventType {
    /// Takes any text: what is not visible ASCII becomes `?`, what is too long is cut, nothing becomes `unknown`. An event
    /// type is a label, and no reason to refuse an event.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let clean: String = text
            .chars()
            .take(EVENT_TYPE_LENGTH_MAX)
            .map(|letter| if letter.is_ascii_graphic() { letter } else { '?' })
            .collect();
        Self(if clean.is_empty() { "unknown".to_owned() } else { clean })
    }

    /// The type's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When the event happened, by the provider's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTime {
    /// The time.
    pub at: DateTime<Utc>,
    /// Where in the payload it was read, such as `pull_request.updated_at`.
    pub path: &'static str,
}

/// Something about a receipt that an operator should see.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Flag(String);

impl Flag {
    /// The body is no usable JSON; it is stored and delivered as bytes all the same.
    #[must_use]
    pub fn unparseable(reason: &str) -> Self {
        Self::new(&format!("unparseable: {reason}"))
    }

    /// Any other remark: a short word, or `word: detail`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.chars().filter(|letter| !letter.is_control()).take(200).collect())
    }

    /// The flag's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What becomes of a request whose bytes came before under another delivery id. A provider that does not sign the id cannot
/// keep a captured request from being sent again so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayGuard {
    /// Nobody looks: the id is signed, or is in the body.
    Off,
    /// It is taken, and the receipt names the earlier one.
    Flag,
    /// It is stored, and goes nowhere until an operator releases it.
    Hold,
    /// It is refused, and nothing of it is kept.
    Reject,
}

impl ReplayGuard {
    /// The word for it in SQL and configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Flag => "flag",
            Self::Hold => "hold",
            Self::Reject => "reject",
        }
    }
}

/// A verified and identified request, with the deliveries it needs if it turns out to be the first of its event.
#[derive(Debug, Clone)]
pub struct NewReceipt {
    /// The id it will have if it is the first.
    pub id: ReceiptId,
    /// The way in.
    pub source: SourceName,
    /// The provider's own id: with `source` and `hook_scope` the identity of the event.
    pub delivery_id: DeliveryId,
    /// The hook's id where the source keeps hooks apart (`dedupe = "per_hook"`), the caller's name where it takes commands
    /// (`provider = "api"`), empty otherwise.
    pub hook_scope: String,
    /// The hook that sent it, where the provider says so.
    pub hook_id: Option<String>,
    /// What kind of event.
    pub event_type: EventType,
    /// What the provider's table says the event is about.
    pub ordering_key: Option<OrderingKey>,
    /// When it happened, by the provider.
    pub event_time: Option<EventTime>,
    /// Where it stands in its subject's history.
    pub version: Option<Version>,
    /// What becomes of it if the same bytes came before under another id.
    pub replay_guard: ReplayGuard,
    /// When the last byte of the body had been read, by this node's clock.
    pub received_at: DateTime<Utc>,
    /// Digest of the body as it came.
    pub body_digest: Digest,
    /// Digest of what stays the same between deliveries of one event; decides between duplicate and conflict.
    pub normalised_digest: Digest,
    /// The secret that matched; `None` when the source takes unsigned requests.
    pub secret: Option<Fingerprint>,
    /// The signed timestamp, where the scheme has one.
    pub signed_at: Option<DateTime<Utc>>,
    /// The peer's address, without port.
    pub remote_address: Option<String>,
    /// Remarks for the operator.
    pub flags: Vec<Flag>,
    /// The header lines, secrets removed.
    pub headers: Headers,
    /// The body as it came, byte for byte.
    pub body: Bytes,
    /// The deliveries that the routes ask for.
    pub deliveries: Vec<PlannedDelivery>,
    /// Whether its dead deliveries are to run again if it turns out to be a duplicate.
    pub may_revive: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_id_is_visible_ascii_within_255_bytes() {
        assert_eq!(DeliveryId::parse(b"evt_1").unwrap().as_str(), "evt_1");
        assert_eq!(DeliveryId::parse(b""), Err(DeliveryIdError::Empty));
        assert!(DeliveryId::parse(&[b'a'; 255]).is_ok());
        assert_eq!(DeliveryId::parse(&[b'a'; 256]), Err(DeliveryIdError::TooLong));
        for bad in [&b"a b"[..], b"a\0", b"a\n", "é".as_bytes(), &[0xff]] {
            assert_eq!(DeliveryId::parse(bad), Err(DeliveryIdError::NotVisibleAscii));
        }
    }

    #[test]
    fn an_event_type_is_cleaned_rather_than_refused() {
        assert_eq!(EventType::new("push").as_str(), "push");
        assert_eq!(EventType::new("push\u{1b}[2J").as_str(), "push?[2J");
        assert_eq!(EventType::new("").as_str(), "unknown");
        assert_eq!(EventType::new(&"x".repeat(9_000)).as_str().len(), 128);
    }
}
