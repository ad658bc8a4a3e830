//! Commands of a team's own producers: takes headers and a verified body, gives the identity. What a command is and what it
//! waits for is said in headers, so that the body can be anything.

use bytes::Bytes;

use super::{
    identity::{IdentifyError, Identity, PayloadForm, delivery_id_of},
    json,
};
use crate::domain::{DeliveryId, Digest, EventType, Headers, OrderingKey, ReceiptId};

/// The key of a command that comes with a bearer token, or beside a signature that covers the same value.
const KEY: &str = "idempotency-key";

/// The keys that a signature covers, each with the signature's own header.
const SIGNED_KEYS: [(&str, &str); 2] = [("webhook-id", "webhook-signature"), ("svix-id", "svix-signature")];

/// What kind of command it is.
const EVENT: &str = "oncehook-event";

/// What it is about.
const ORDERING_KEY: &str = "oncehook-ordering-key";

/// What a command is called that does not say.
const UNNAMED: &str = "command";

/// Identifies a command.
pub(super) fn identify(headers: &Headers, body: &Bytes) -> Result<Identity, IdentifyError> {
    let delivery_id = key_of(headers)?;
    let body_digest = Digest::of(body);
    let reading = json::read(body, ["type"]);
    let own_type = EventType::new(reading.text("type").filter(|text| !text.is_empty()).unwrap_or(UNNAMED));
    let event_type = only_text(headers, EVENT)?.map_or_else(|| own_type.clone(), |text| EventType::new(&text));
    let ordering_key = only_text(headers, ORDERING_KEY)?.map(|text| OrderingKey::new(&text));
    Ok(Identity {
        normalised_digest: normalised(
            body_digest,
            (event_type != own_type).then_some(&event_type),
            ordering_key.as_ref(),
        ),
        delivery_id,
        hook_id: None,
        event_type,
        ordering_key,
        event_time: None,
        version: None,
        body_digest,
        payload: if reading.is_usable { PayloadForm::Body(body.clone()) } else { PayloadForm::Opaque },
        flags: reading.flags,
    })
}

/// A request with a signature may leave the key out: then it is the id that the signature covers. That both are equal where
/// both are there was seen to before the body was read.
fn key_of(headers: &Headers) -> Result<DeliveryId, IdentifyError> {
    let has = |name: &str| headers.all(name).next().is_some();
    let signed = SIGNED_KEYS.into_iter().find(|(_, signature)| has(signature)).map(|(id, _)| id);
    let key = delivery_id_of(headers, if has(KEY) { KEY } else { signed.unwrap_or(KEY) })?;
    // Invariant: what is signed to look at a receipt (its id, and no body) is never a command.
    if key.as_str().starts_with(ReceiptId::PREFIX) {
        return Err(IdentifyError::DeliveryIdReserved);
    }
    Ok(key)
}

/// The text of a header that may be absent or empty, and must not be repeated.
fn only_text(headers: &Headers, header: &'static str) -> Result<Option<String>, IdentifyError> {
    let mut values = headers.all(header);
    let value = values.next().map(<[u8]>::trim_ascii).filter(|value| !value.is_empty());
    if values.next().is_some() {
        return Err(IdentifyError::HeaderRepeated { header });
    }
    Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// The body, and what the headers say beyond it: the same body as another command, or about something else, is another
/// payload.
fn normalised(body: Digest, event_type: Option<&EventType>, ordering_key: Option<&OrderingKey>) -> Digest {
    if event_type.is_none() && ordering_key.is_none() {
        return body;
    }
    // Invariant: neither a type (visible ASCII) nor a key (no NUL) holds the separator, so that no two of these are alike.
    let parts = [event_type.map_or("", EventType::as_str), ordering_key.map_or("", OrderingKey::as_str)];
    Digest::of(&[b"oncehook command\0", parts.join("\0").as_bytes(), b"\0", body.as_bytes()].concat())
}
