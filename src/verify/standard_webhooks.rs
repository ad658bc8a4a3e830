//! The scheme of Standard Webhooks 1.0. Takes header lines and the time; gives the signed id and timestamp with all
//! `v1` signatures; never reads another version.
//!
//! Source: github.com/standard-webhooks, spec/standard-webhooks.md. `webhook-signature` is a list of `v1,<base64>`
//! separated by spaces (`v1a` is ed25519). Signed is `{webhook-id}.{webhook-timestamp}.{body}`; neither id nor timestamp
//! may hold a dot, or one signature would fit two requests. Svix and its customers use `svix-` names for the same.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chrono::{DateTime, Utc};

use super::{
    VerifyError,
    presented::{Presented, Signature, only_value, readable},
    timestamp::{check_fresh, unix_seconds},
};
use crate::domain::{DeliveryId, Headers};

/// The names of the three headers, which belong together.
#[derive(PartialEq, Eq)]
pub(super) struct Family {
    pub id: &'static str,
    pub timestamp: &'static str,
    pub signature: &'static str,
}

/// The names in the specification.
pub(super) const STANDARD: Family =
    Family { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" };

/// The names from before the specification.
pub(super) const SVIX: Family = Family { id: "svix-id", timestamp: "svix-timestamp", signature: "svix-signature" };

const EXPECTED_ID: &str = "1 to 255 visible ASCII characters without a dot";
const EXPECTED_TIMESTAMP: &str = "Unix seconds in digits";
const EXPECTED_SIGNATURE: &str = "`v1,` and then 32 bytes in standard base64 with padding, separated by spaces";

/// Reads what the three headers present.
pub(super) fn read(headers: &Headers, tolerance: Duration, now: DateTime<Utc>) -> Result<Presented, VerifyError> {
    let names = family_of(headers)?;
    let malformed = |header, expected| VerifyError::MalformedHeader { header, expected };
    let signature = only_value(headers, names.signature, || VerifyError::MissingSignature { header: names.signature })?;
    let id = only_value(headers, names.id, || VerifyError::MissingHeader { header: names.id })?;
    let timestamp = only_value(headers, names.timestamp, || VerifyError::MissingHeader { header: names.timestamp })?;

    // Invariant: without a dot in the id and the timestamp, no two requests have the same signed bytes.
    let delivery_id = DeliveryId::parse(id).ok().filter(|_| !id.contains(&b'.'));
    let delivery_id = delivery_id.ok_or_else(|| malformed(names.id, EXPECTED_ID))?;
    let seconds = unix_seconds(timestamp).ok_or_else(|| malformed(names.timestamp, EXPECTED_TIMESTAMP))?;
    let seen: Vec<Option<Signature>> = signature
        .split(|byte| *byte == b' ')
        .filter_map(|element| element.strip_prefix(b"v1,"))
        .map(from_base64)
        .collect();
    let signatures = readable(names.signature, EXPECTED_SIGNATURE, &seen)?;
    let signed_at = check_fresh(seconds, tolerance, now)?;
    Ok(Presented {
        prefix: [id, b".", timestamp, b"."].concat(),
        signatures,
        signed_at: Some(signed_at),
        signed_id: Some(delivery_id),
    })
}

/// Which names the sender uses. A request with names of both is refused: whichever we read, somebody behind us may
/// read the others, which nothing proves.
fn family_of(headers: &Headers) -> Result<Family, VerifyError> {
    let uses = |names: &Family| {
        [names.id, names.timestamp, names.signature].into_iter().any(|name| headers.all(name).next().is_some())
    };
    match (uses(&STANDARD), uses(&SVIX)) {
        (true, true) => Err(VerifyError::MixedHeaders),
        (false, true) => Ok(SVIX),
        (_, false) => Ok(STANDARD),
    }
}

/// Reads 32 bytes from base64 in its one canonical spelling: the standard alphabet, padded, no stray bits.
fn from_base64(text: &[u8]) -> Option<Signature> {
    BASE64_STANDARD.decode(text).ok()?.try_into().ok()
}
