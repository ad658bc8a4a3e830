//! GitHub: takes headers and a verified body, gives the identity. The event name and the delivery id come from headers
//! that the signature does not cover; all else comes from the payload.
//!
//! Header facts: docs.github.com, "Webhook events and payloads", delivery headers; content types and the form field
//! `payload`: github/docs `data/reusables/webhooks/content_type_and_secret.md`.

pub(super) mod events;
mod form;

use std::borrow::Cow;

use bytes::Bytes;

use events::row_of;
use form::{FormField, form_field};

use super::{
    identity::{IdentifyError, Identity, PayloadForm, delivery_id_of},
    json::{self, Reading},
};
use crate::domain::{DeliveryId, Digest, EventType, Flag, Headers};

/// "A globally unique identifier (GUID) to identify the event", the same on a redelivery and for every hook that sees it.
const DELIVERY_HEADER: &str = "X-GitHub-Delivery";

/// Identifies a request from GitHub.
pub(super) fn identify(headers: &Headers, body: &Bytes) -> Result<Identity, IdentifyError> {
    let delivery_id = delivery_id_of(headers, DELIVERY_HEADER)?;
    let (event, mut flags) = event_name(headers);
    let row = row_of(&event);
    let body_digest = Digest::of(body);

    let form = if is_form(headers, body) { Some(form_field(body, "payload")) } else { None };
    let fields = std::iter::once("action").chain(row.fields());
    let (payload, mut reading, normalised_digest) = match form {
        None => {
            let reading = json::read(body, fields);
            (PayloadForm::Body(body.clone()), reading, body_digest)
        }
        Some(FormField::Once(json)) => {
            let reading = json::read(&json, fields);
            let digest = Digest::of(&json);
            (PayloadForm::FormField(json.into()), reading, digest)
        }
        Some(FormField::Repeated) => {
            let mut reading = Reading::default();
            reading.flag(Flag::unparseable("the form field payload stands more than once"));
            (PayloadForm::Opaque, reading, body_digest)
        }
        Some(FormField::Missing) => return Err(IdentifyError::PayloadFieldMissing),
    };

    let ordering_key = row.ordering_key(&mut reading);
    let event_time = row.event_time(&mut reading);
    let version = row.version(&reading, ordering_key.as_ref(), event_time);
    let event_type = match reading.text("action") {
        Some(action) => EventType::new(&format!("{event}.{action}")),
        None => EventType::new(&event),
    };
    let hook_id = hook_id(headers, &mut flags);
    let payload = if reading.is_usable { payload } else { PayloadForm::Opaque };
    flags.append(&mut reading.flags);
    Ok(Identity {
        delivery_id,
        hook_id,
        event_type,
        ordering_key,
        event_time,
        version,
        body_digest,
        normalised_digest,
        flags,
        payload,
    })
}

/// The event's name from its header. An event is not refused over its name: without one it is `unknown`.
fn event_name(headers: &Headers) -> (Cow<'_, str>, Vec<Flag>) {
    let name = headers.only("X-GitHub-Event").map(String::from_utf8_lossy).filter(|name| !name.is_empty());
    match name {
        Some(name) if row_of(&name).name == name => (name, Vec::new()),
        Some(name) => {
            let shown = EventType::new(&name);
            (name, vec![Flag::new(&format!("event not in the table: {shown}"))])
        }
        None => (Cow::Borrowed("unknown"), vec![Flag::new("no single X-GitHub-Event header: the event has no name")]),
    }
}

/// The hook's id: a decimal number, but nothing promises that. Absent on older servers.
fn hook_id(headers: &Headers, flags: &mut Vec<Flag>) -> Option<String> {
    let mut values = headers.all("X-GitHub-Hook-ID");
    let value = values.next()?;
    // The rules for a delivery id fit: it is stored in the same ways.
    let id = DeliveryId::parse(value).ok().filter(|_| values.next().is_none());
    if id.is_none() {
        flags.push(Flag::new("unreadable header: X-GitHub-Hook-ID"));
    }
    id.map(|id| id.as_str().to_owned())
}

/// The JSON of a form-encoded request; `None` where it is no form, or has no single field for it.
pub(super) fn form_json(headers: &Headers, body: &[u8]) -> Option<Bytes> {
    match is_form(headers, body).then(|| form_field(body, "payload"))? {
        FormField::Once(json) => Some(json.into()),
        FormField::Repeated | FormField::Missing => None,
    }
}

/// Whether the JSON is in a form field. A body that begins with a brace is no form whatever the header says: curl says
/// "form" for anything it posts, and the header is not signed.
fn is_form(headers: &Headers, body: &[u8]) -> bool {
    let says_form = headers
        .only("Content-Type")
        .and_then(|value| value.split(|byte| *byte == b';').next())
        .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"application/x-www-form-urlencoded"));
    says_form && !body.trim_ascii_start().starts_with(b"{")
}
