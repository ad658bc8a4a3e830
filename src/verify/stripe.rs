//! Stripe's scheme. Takes header lines and the time; gives the signed timestamp and all `v1` signatures; never reads `v0`.
//!
//! Source: docs.stripe.com/webhooks, "Verify webhook signatures manually". `Stripe-Signature` is a list of `key=value`
//! separated by commas: one `t` in Unix seconds, one `v1` per secret that is good now, and other keys that must be
//! ignored (`v0` is a false signature for test events). Signed is `{t}.{body}`, with the secret's text as it stands,
//! `whsec_` included, as the key.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    VerifyError,
    presented::{Presented, from_hex, only_value, readable},
    timestamp::{check_fresh, unix_seconds},
};
use crate::domain::Headers;

/// The header with the timestamp and the signatures.
pub(super) const SIGNATURE: &str = "stripe-signature";

const EXPECTED: &str =
    "`t=` with Unix seconds in digits, exactly once, and `v1=` with 64 hex digits, separated by commas";

/// Reads what Stripe's header presents. Spaces and tabs around an element are passed over, since proxies that rewrite
/// lists put them there; within an element they are errors.
pub(super) fn read(headers: &Headers, tolerance: Duration, now: DateTime<Utc>) -> Result<Presented, VerifyError> {
    let malformed = || VerifyError::MalformedHeader { header: SIGNATURE, expected: EXPECTED };
    let value = only_value(headers, SIGNATURE, || VerifyError::MissingSignature { header: SIGNATURE })?;

    let mut timestamp = None;
    let mut seen = Vec::new();
    for element in value.split(|byte| *byte == b',') {
        let (key, value) = split_at_equals(element.trim_ascii()).ok_or_else(malformed)?;
        match key {
            b"t" if timestamp.is_some() => return Err(malformed()),
            b"t" => timestamp = Some(value),
            b"v1" => seen.push(from_hex(value)),
            _ => {}
        }
    }

    let timestamp = timestamp.ok_or_else(malformed)?;
    let seconds = unix_seconds(timestamp).ok_or_else(malformed)?;
    let signatures = readable(SIGNATURE, EXPECTED, &seen)?;
    let signed_at = check_fresh(seconds, tolerance, now)?;
    Ok(Presented { prefix: [timestamp, b"."].concat(), signatures, signed_at: Some(signed_at), signed_id: None })
}

fn split_at_equals(element: &[u8]) -> Option<(&[u8], &[u8])> {
    let place = element.iter().position(|byte| *byte == b'=')?;
    Some((&element[..place], &element[place + 1..]))
}
