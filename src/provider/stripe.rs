//! Stripe: takes a verified body, gives the identity. Reads the few fields that every API version has, each optional:
//! an event is never refused because its shape is that of another version.
//!
//! Sources: stripe-go `event.go` (snapshot events), `event_notification.go` (thin events), docs.stripe.com/webhooks.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{
    history::Step,
    identity::{Identity, PayloadForm},
    json::{self, Field as Value, MEMBERS_MAX, Reading, members_of},
    object_state::chain_of,
    subject::{
        EventRow, KeyTemplate,
        Part::{self, Field},
    },
};
use crate::domain::{DeliveryId, Digest, EventType, Flag};

/// What a delivery of one event may change: "Number of webhooks that haven't been successfully delivered", a live counter.
const LIVE_MEMBER: &[u8] = b"pending_webhooks";

macro_rules! keys {
    ($([$($part:expr),+]),+ $(,)?) => { &[$(KeyTemplate { namespace: "", parts: &[$($part),+] }),+] };
}

/// Who the object belongs to, in a Connect platform and in an organisation.
const ACCOUNT: Part = Field("account");
const CONTEXT: Part = Field("context");

/// All events of Stripe. Its object ids tell their kind (`cus_1`), so the key needs no namespace; the account stands
/// first, since ids of two accounts may be the same. An object without id (the balance) is known by its kind. `created` is
/// whole seconds in a snapshot event, RFC 3339 with fraction in a thin one.
pub(super) static EVENT: EventRow = EventRow {
    name: "*",
    keys: keys![
        [ACCOUNT, Field("data.object.id")],
        [CONTEXT, Field("data.object.id")],
        [Field("data.object.id")],
        [ACCOUNT, Field("related_object.id")],
        [CONTEXT, Field("related_object.id")],
        [Field("related_object.id")],
        [ACCOUNT, Field("data.object.object")],
        [CONTEXT, Field("data.object.object")],
        [Field("data.object.object")],
    ],
    times: &["created"],
    version: &[Step::Time],
};

/// Identifies a request from Stripe. The event's id is `id` in the body, which is signed; a body without one is known by
/// its digest (`sha256:…`), so that it is stored all the same.
///
/// One event id that comes with `account` and again without is one event with two payloads: a conflict.
pub(super) fn identify(body: &Bytes) -> Identity {
    let body_digest = Digest::of(body);
    let fields = ["id", "type", "object", "livemode"].into_iter().chain(EVENT.fields());
    let mut reading = json::read(body, fields);

    let delivery_id = match reading.text("id").map(|id| DeliveryId::parse(id.as_bytes())) {
        Some(Ok(id)) => id,
        _ => {
            reading.flag(Flag::new("no usable event id: the receipt is known by the digest of its body"));
            DeliveryId::parse(format!("sha256:{body_digest}").as_bytes()).expect("71 characters of visible ASCII")
        }
    };
    let event_type = EventType::new(reading.text("type").unwrap_or_default());
    let is_about_nothing =
        reading.text("object") == Some("v2.core.event") && reading.word("related_object.id").is_none();
    let ordering_key = if is_about_nothing { None } else { EVENT.ordering_key(&mut reading) };
    let event_time = EVENT.event_time(&mut reading);
    let mut version = EVENT.version(&reading, ordering_key.as_ref(), event_time);
    if let Some(version) = version.as_mut().filter(|_| reading.is_usable) {
        // Whole seconds are too coarse: within one, an update tells by its previous attributes what it followed.
        version.chain = chain_of(event_type.as_str(), body);
    }
    remark_on_origin(&mut reading);
    Identity {
        delivery_id,
        hook_id: None,
        event_type,
        ordering_key,
        event_time,
        version,
        body_digest,
        normalised_digest: normalised_digest(body).unwrap_or(body_digest),
        payload: if reading.is_usable { PayloadForm::Body(body.clone()) } else { PayloadForm::Opaque },
        flags: reading.flags,
    }
}

/// Test events reach live endpoints of Connect platforms as a rule, and events of connected accounts look like one's own.
fn remark_on_origin(reading: &mut Reading) {
    if reading.field("livemode") == Some(&Value::Truth(false)) {
        reading.flag(Flag::new("test mode"));
    }
    for owner in ["account", "context"] {
        if let Some(name) = reading.text(owner) {
            let flag = Flag::new(&format!("{owner}: {name}"));
            reading.flag(flag);
        }
    }
}

/// The digest of the top-level members in the order of their keys, without the live counter. `None` when the body is no
/// JSON object: then the bytes themselves are compared.
fn normalised_digest(body: &[u8]) -> Option<Digest> {
    let members = members_of(std::str::from_utf8(body).ok()?, |key| key != LIVE_MEMBER).ok()?;
    if members.count > MEMBERS_MAX {
        return None;
    }
    let mut members = members.wanted;
    // Stable: of repeated keys the order counts, for the last one is the one that is read.
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hash = Sha256::new();
    for (key, value) in members {
        // The lengths keep key and value apart.
        hash.update((key.len() as u64).to_be_bytes());
        hash.update(&key);
        hash.update((value.get().len() as u64).to_be_bytes());
        hash.update(value.get());
    }
    Some(Digest::from_bytes(hash.finalize().into()))
}
