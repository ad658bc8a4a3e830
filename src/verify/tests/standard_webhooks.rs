//! The three headers of Standard Webhooks and their families.

use super::{Request, STANDARD_BASE64, STANDARD_ID, STANDARD_SECONDS, Scheme, hmac_by_hand, standard_key};
use base64::{Engine as _, prelude::BASE64_STANDARD};

fn presenting(value: impl Into<Vec<u8>>) -> &'static str {
    Request::standard().with("webhook-signature", value).outcome()
}

/// The vector's request with `id` and `timestamp` as given, and a signature that is right for exactly these.
fn signed_as(id: &str, timestamp: &str) -> Request {
    let request = Request::new(Scheme::StandardWebhooks, standard_key(), STANDARD_SECONDS, b"{}");
    let message = format!("{id}.{timestamp}.{{}}");
    let signature = BASE64_STANDARD.encode(hmac_by_hand(request.secrets[0].expose(), message.as_bytes()));
    request
        .with("webhook-id", id)
        .with("webhook-timestamp", timestamp)
        .with("webhook-signature", format!("v1,{signature}"))
}

/// providers.md C, D29
#[test]
fn the_svix_names_are_as_good() {
    let request = Request { headers: Default::default(), ..Request::standard() }
        .with("Svix-Id", STANDARD_ID)
        .with("Svix-Timestamp", STANDARD_SECONDS.to_string())
        .with("Svix-Signature", format!("v1,{STANDARD_BASE64}"));
    assert_eq!(request.verdict().unwrap().signed_id.unwrap().as_str(), STANDARD_ID);
}

#[test]
fn names_of_both_families_in_one_request_are_refused() {
    let right = Request::standard().with("webhook-signature", format!("v1,{STANDARD_BASE64}"));
    for name in ["svix-id", "svix-timestamp", "svix-signature"] {
        assert_eq!(right.clone().with(name, "1").outcome(), "mixed_headers", "{name}");
    }
    let split = Request::standard().with("svix-signature", format!("v1,{STANDARD_BASE64}"));
    assert_eq!(split.outcome(), "mixed_headers");
}

/// B020
#[test]
fn each_of_the_three_headers_must_stand_there() {
    let right = Request::standard().with("webhook-signature", format!("v1,{STANDARD_BASE64}"));
    let without = |left_out: &str| {
        let headers = right.headers.iter().filter(|(name, _)| *name != left_out).collect();
        Request { headers, ..right.clone() }.outcome()
    };
    assert_eq!(without("webhook-signature"), "missing_signature");
    assert_eq!(without("webhook-id"), "missing_header");
    assert_eq!(without("webhook-timestamp"), "missing_header");
    assert_eq!(presenting(""), "empty_header");
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let value = right.headers.only(name).unwrap().to_vec();
        assert_eq!(right.clone().with(name, value).outcome(), "repeated_header", "{name}");
        let headers =
            right.headers.iter().map(|(held, value)| (held, if held == name { b"" } else { value })).collect();
        assert_eq!(Request { headers, ..right.clone() }.outcome(), "empty_header", "{name}");
    }
}

/// faults.md: with dots, `a` + `1.2` and `a.1` + `2` would be the same signed bytes.
#[test]
fn an_id_with_a_dot_is_refused_although_its_signature_is_right() {
    let timestamp = STANDARD_SECONDS.to_string();
    assert_eq!(signed_as("msg_1", &timestamp).outcome(), "accepted");
    for id in ["msg.1", ".", "msg_1.", ".msg_1"] {
        assert_eq!(signed_as(id, &timestamp).outcome(), "malformed_header", "{id}");
    }
}

#[test]
fn an_id_that_is_no_delivery_id_is_refused_although_its_signature_is_right() {
    let timestamp = STANDARD_SECONDS.to_string();
    assert_eq!(signed_as(&"m".repeat(255), &timestamp).outcome(), "accepted");
    for id in ["a b", "é", "a\tb", "a\0", " msg_1", &"m".repeat(256)] {
        assert_eq!(signed_as(id, &timestamp).outcome(), "malformed_header", "{id}");
    }
}

#[test]
fn a_timestamp_has_one_spelling_although_its_signature_is_right() {
    for timestamp in ["+1614265330", " 1614265330", "01614265330", "1614265330.0", "1614265330 ", "-1", "0x60380A32"] {
        assert_eq!(signed_as("msg_1", timestamp).outcome(), "malformed_header", "{timestamp}");
    }
}

/// The id is under the signature, unlike GitHub's.
#[test]
fn another_id_or_timestamp_breaks_the_signature() {
    let right = signed_as("msg_1", &STANDARD_SECONDS.to_string());
    for (name, value) in [("webhook-id", "msg_2"), ("webhook-timestamp", "1614265331")] {
        let headers = right.headers.iter().map(|(n, v)| (n, if n == name { value.as_bytes() } else { v })).collect();
        assert_eq!(Request { headers, ..right.clone() }.outcome(), "signature_mismatch", "{name}");
    }
}

/// RUSTSEC-2024-0010: a library compared only as many bytes as it was given.
#[test]
fn a_part_of_the_signature_is_no_signature() {
    let versions = (0..STANDARD_BASE64.len()).map(|length| STANDARD_BASE64[..length].to_owned());
    let too_long = [format!("{STANDARD_BASE64}A"), format!("{STANDARD_BASE64}AAAA"), format!("{STANDARD_BASE64}=")];
    for value in versions.chain(too_long) {
        assert_eq!(presenting(format!("v1,{value}")), "malformed_header", "{value}");
    }
    for value in ["v1", "v1,", ",", "v", "1", STANDARD_BASE64, ",v1"] {
        assert_ne!(presenting(value), "accepted", "{value}");
    }
    let bytes = BASE64_STANDARD.decode(STANDARD_BASE64).unwrap();
    for part in [&bytes[..31], &bytes[..1], &[bytes.as_slice(), b"\0"].concat()] {
        assert_eq!(presenting(format!("v1,{}", BASE64_STANDARD.encode(part))), "malformed_header");
    }
}

/// faults.md: a replay guard that looks at the text of a signature must not meet two texts for one signature.
#[test]
fn base64_has_one_spelling() {
    assert_eq!(presenting(format!("v1,{STANDARD_BASE64}")), "accepted");
    let url_safe = STANDARD_BASE64.replace('+', "-").replace('/', "_");
    let unpadded = STANDARD_BASE64.trim_end_matches('=');
    // The last digit before the padding carries two bits that mean nothing: E and F would decode to the same bytes.
    let stray_bits = STANDARD_BASE64.replace("OE=", "OF=");
    for value in
        [url_safe.as_str(), unpadded, &stray_bits, &format!("{STANDARD_BASE64}\t"), &format!(" {STANDARD_BASE64}")]
    {
        assert_eq!(presenting(format!("v1,{value}")), "malformed_header", "{value}");
    }
}

#[test]
fn no_other_version_is_checked() {
    for version in ["v0", "v1a", "v2", "V1", "v", "1", ""] {
        assert_eq!(presenting(format!("{version},{STANDARD_BASE64}")), "no_supported_signature", "{version}");
    }
    assert_eq!(presenting(format!("v1a,AAAA v1,{STANDARD_BASE64} v2,zz")), "accepted");
}
