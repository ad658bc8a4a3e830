//! The headers of one attempt: takes a parcel and the time, gives the lines to send. Never forwards what the provider's
//! request said about its own connection, its credentials or its client.

use std::fmt::Write as _;

use chrono::{DateTime, SecondsFormat, Utc};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::{Parcel, signature};
use crate::domain::Secret;

/// Header lines of the provider that go on to the destination, at most. The rest is dropped.
const FORWARDED_MAX: usize = 64;

/// Headers of the provider's request that go on unchanged: what the body is, and the provider's own names for the event
/// with its signature, so that code written for the provider keeps working behind Oncehook. `webhook-*` is not among them:
/// a destination must find our own id and signature there. Names that begin with `x-github-` go on too.
const FORWARDED: &[&str] = &["content-type", "content-encoding", "stripe-signature", "x-hub-signature-256"];

/// A header in which GitHub once sent webhook secrets by mistake (September 2025 to January 2026). It is dropped on
/// arrival already, and must not leave this house in any case.
const NEVER_FORWARDED: &str = "x-github-encoded-secret";

/// All headers of an attempt that begins `now`. The signature is made afresh for each attempt, since it carries the time;
/// the ids stay the same.
pub(super) fn of_attempt(parcel: &Parcel, secret: Option<&Secret>, now: DateTime<Utc>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    forward(&mut headers, parcel);
    add_own(&mut headers, parcel);
    add_cloud_event(&mut headers, parcel);
    if let Some(secret) = secret {
        let (id, timestamp) = (parcel.delivery.to_string(), now.timestamp());
        set(&mut headers, "webhook-signature", &signature::sign(secret, &id, timestamp, &parcel.body));
        set(&mut headers, "webhook-timestamp", &timestamp.to_string());
        set(&mut headers, "webhook-id", &id);
    }
    headers
}

fn forward(headers: &mut HeaderMap, parcel: &Parcel) {
    let known = parcel
        .headers
        .iter()
        .filter(|(name, _)| (FORWARDED.contains(name) || name.starts_with("x-github-")) && *name != NEVER_FORWARDED);
    for (name, value) in known.take(FORWARDED_MAX) {
        // What is no header by the rules of HTTP cannot be sent on, and is no reason to hold the event back.
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value)) else {
            continue;
        };
        headers.append(name, value);
    }
}

fn add_own(headers: &mut HeaderMap, parcel: &Parcel) {
    set(headers, "idempotency-key", &parcel.delivery.to_string());
    set(headers, "oncehook-source", parcel.source.as_str());
    set(headers, "oncehook-event", parcel.event_type.as_str());
    set(headers, "oncehook-receipt", &parcel.receipt.to_string());
    set(headers, "oncehook-delivery-id", parcel.delivery_id.as_str());
    set(headers, "oncehook-attempt", &parcel.attempt.to_string());
    if let Some(key) = &parcel.ordering_key {
        set(headers, "oncehook-ordering-key", &percent_encode(key.as_str()));
    }
    if parcel.is_stale {
        set(headers, "oncehook-stale", "true");
    }
}

/// CloudEvents 1.0.2 in the binary mode of its HTTP binding. `ce-source` and `ce-id` together name the event; the id is the
/// receipt's, since a provider's own id may stand for two receipts (`dedupe = "per_hook"`). `ce-time` is when the event
/// happened, or where the provider does not say, when it came in.
fn add_cloud_event(headers: &mut HeaderMap, parcel: &Parcel) {
    set(headers, "ce-specversion", "1.0");
    set(headers, "ce-id", &parcel.receipt.to_string());
    set(headers, "ce-source", &format!("/hooks/{}", parcel.source));
    set(headers, "ce-type", &percent_encode(parcel.event_type.as_str()));
    let time = parcel.event_time.unwrap_or(parcel.received_at);
    set(headers, "ce-time", &time.to_rfc3339_opts(SecondsFormat::AutoSi, true));
    if let Some(key) = &parcel.ordering_key {
        set(headers, "ce-subject", &percent_encode(key.as_str()));
    }
}

/// Sets a header of our own. A value that is no header value is left out: names and ids are visible ASCII by their types,
/// and keys are percent-encoded, so this drops nothing.
fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Encodes everything but visible ASCII, and `"` and `%`. Source: CloudEvents 1.0.2, HTTP protocol binding, 3.1.3.2.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes all text");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{DeliveryId, DeliveryRef, EventType, Headers, OrderingKey, ReceiptId};

    fn parcel(headers: Headers, key: &str) -> Parcel {
        Parcel {
            delivery: DeliveryRef::new(),
            attempt: 3,
            source: "github".parse().unwrap(),
            receipt: ReceiptId::new(),
            delivery_id: DeliveryId::parse(b"72d3162e").unwrap(),
            event_type: EventType::new("pull_request.opened"),
            ordering_key: Some(OrderingKey::new(key)),
            event_time: None,
            received_at: DateTime::from_timestamp(1_600_000_000, 0).unwrap(),
            headers,
            body: Bytes::from_static(b"{}"),
            is_stale: false,
        }
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap()
    }

    #[test]
    fn only_what_names_the_event_is_forwarded() {
        let headers: Headers = [
            ("Content-Type", &b"application/json"[..]),
            ("X-GitHub-Event", b"pull_request"),
            ("X-GitHub-Encoded-Secret", b"canary"),
            ("Authorization", b"canary"),
            ("Cookie", b"canary"),
            ("Host", b"canary"),
            ("Connection", b"canary"),
            ("Transfer-Encoding", b"canary"),
            ("Content-Length", b"999"),
            ("X-Forwarded-For", b"canary"),
            ("webhook-signature", b"canary"),
            ("oncehook-attempt", b"canary"),
            ("User-Agent", b"canary"),
        ]
        .into_iter()
        .collect();
        let sent = of_attempt(&parcel(headers, "pull_request/1"), None, now());
        assert_eq!(sent["content-type"], "application/json");
        assert_eq!(sent["x-github-event"], "pull_request");
        assert_eq!(sent["oncehook-attempt"], "3");
        assert!(!format!("{sent:?}").contains("canary"), "{sent:?}");
        assert!(sent.get("content-length").is_none() && sent.get("oncehook-stale").is_none());
    }

    #[test]
    fn a_flood_of_forwarded_headers_is_cut() {
        let headers: Headers = (0..40_000).map(|n| (format!("x-github-{n}"), "x")).collect();
        let sent = of_attempt(&parcel(headers, "k"), None, now());
        assert_eq!(sent.keys().filter(|name| name.as_str().starts_with("x-github-")).count(), FORWARDED_MAX);
        assert!(sent.contains_key("idempotency-key"));
    }

    #[test]
    fn a_key_outside_ascii_is_percent_encoded_as_cloud_events_asks() {
        let sent = of_attempt(&parcel(Headers::new(), "Euro € 😀 \"100%\"\r\nx: y"), None, now());
        let encoded = "Euro%20%E2%82%AC%20%F0%9F%98%80%20%22100%25%22%0D%0Ax:%20y";
        assert_eq!(sent["ce-subject"], encoded);
        assert_eq!(sent["oncehook-ordering-key"], encoded);
        assert_eq!(sent["ce-time"], "2020-09-13T12:26:40Z");
    }

    #[test]
    fn each_attempt_is_signed_afresh_under_the_same_ids() {
        let mut parcel = parcel(Headers::new(), "k");
        let secret = Secret::new(b"0123456789abcdef01234567".to_vec());
        let first = of_attempt(&parcel, Some(&secret), now());
        parcel.attempt = 4;
        let second = of_attempt(&parcel, Some(&secret), now() + chrono::TimeDelta::minutes(10));
        for same in ["webhook-id", "idempotency-key", "oncehook-receipt", "ce-id"] {
            assert_eq!(first[same], second[same]);
        }
        for other in ["webhook-timestamp", "webhook-signature", "oncehook-attempt"] {
            assert_ne!(first[other], second[other]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_stored_header_and_no_key_can_break_the_request(
            lines in proptest::collection::vec(("(x-github-)?[ -~]{0,20}", proptest::collection::vec(any::<u8>(), 0..40)), 0..100),
            key in any::<String>(),
        ) {
            let sent = of_attempt(&parcel(lines.into_iter().collect(), &key), None, now());
            prop_assert!(sent.len() <= FORWARDED_MAX + 20);
            prop_assert_eq!(sent.get_all("idempotency-key").iter().count(), 1);
            prop_assert!(sent.contains_key("ce-subject") && sent.contains_key("oncehook-ordering-key"));
        }
    }
}
