//! Standard Webhooks 1.0: takes headers and a verified body, gives the identity. The specification fixes the headers;
//! of the body it only advises `type`, `timestamp` and `data`.
//!
//! Source: standard-webhooks/standard-webhooks, spec/standard-webhooks.md (commit b2fa7b8).

use bytes::Bytes;

use super::{
    history::Step,
    identity::{IdentifyError, Identity, PayloadForm, delivery_id_of},
    json,
    subject::{EventRow, KeyTemplate, Part::Field},
};
use crate::domain::{Digest, EventType, Headers, Version};

/// The headers that carry the id, best first: the specification's, and that of Svix, from which it came. Both are covered
/// by the signature, the same on every attempt. Verification must use the same one.
const ID_HEADERS: [&str; 2] = ["webhook-id", "svix-id"];

/// All events. Ids of different kinds of object may be equal here: then too much waits rather than too little.
static EVENT: EventRow = EventRow {
    name: "*",
    keys: &[KeyTemplate { namespace: "data", parts: &[Field("data.id")] }],
    times: &["timestamp"],
    version: &[Step::Time],
};

/// Identifies a request that follows Standard Webhooks.
pub(super) fn identify(headers: &Headers, body: &Bytes) -> Result<Identity, IdentifyError> {
    let header = if headers.all(ID_HEADERS[0]).next().is_none() && headers.all(ID_HEADERS[1]).next().is_some() {
        ID_HEADERS[1]
    } else {
        ID_HEADERS[0]
    };
    let delivery_id = delivery_id_of(headers, header)?;
    let body_digest = Digest::of(body);
    let mut reading = json::read(body, std::iter::once("type").chain(EVENT.fields()));
    // `data.id` is a habit and no promise: its absence is not worth a remark.
    let ordering_key = if reading.word("data.id").is_some() { EVENT.ordering_key(&mut reading) } else { None };
    let event_type = EventType::new(reading.text("type").unwrap_or_default());
    let event_time = EVENT.event_time(&mut reading);
    let version =
        EVENT.version(&reading, ordering_key.as_ref(), event_time).map(|version| of_kind(version, &event_type));
    Ok(Identity {
        delivery_id,
        hook_id: None,
        event_type,
        ordering_key,
        event_time,
        version,
        body_digest,
        normalised_digest: body_digest,
        payload: if reading.is_usable { PayloadForm::Body(body.clone()) } else { PayloadForm::Opaque },
        flags: reading.flags,
    })
}

/// A user 5 and an order 5 share a lane, and neither replaces the other: the types tell them apart up to their last full
/// stop (`user.created`, `user.address.changed`).
fn of_kind(version: Version, event_type: &EventType) -> Version {
    let kind = event_type.as_str().rsplit_once('.').map_or(event_type.as_str(), |(kind, _)| kind);
    Version { scale: format!("{} {kind}", version.scale), ..version }
}
