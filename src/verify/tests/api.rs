//! Who sends a command: bearer tokens and signatures, and never the one for the other.

use super::{NOW, Request, STANDARD_KEY, Scheme, key, standard_key};
use crate::verify::signing_key;

const PLAIN: &str = "no-base64-but-a-token";

/// A request to a source with two callers, of whom one has a secret that cannot sign.
fn request() -> Request {
    Request::new(Scheme::Api, key(PLAIN), NOW, b"{}").secrets([key(PLAIN), key(STANDARD_KEY)])
}

fn bearing(value: &str) -> Request {
    request().with("Authorization", value)
}

#[test]
fn a_token_is_taken_whoever_has_it_and_names_its_secret() {
    for text in [PLAIN, STANDARD_KEY] {
        for word in ["Bearer", "bearer", "BEARER"] {
            let verified = bearing(&format!("{word} {text}")).verdict().unwrap();
            assert_eq!(&verified.secret, key(text).fingerprint());
            assert_eq!((verified.signed_at, verified.signed_id), (None, None));
        }
        assert_eq!(bearing(&format!("Bearer   {text}")).outcome(), "accepted", "RFC 9110 allows several spaces");
    }
}

#[test]
fn a_token_that_is_not_quite_one_is_refused() {
    let upper = PLAIN.to_uppercase();
    for token in [&upper, &PLAIN[1..], &PLAIN[..PLAIN.len() - 1], &format!("{PLAIN}x"), &STANDARD_KEY["whsec_".len()..]]
    {
        assert_eq!(bearing(&format!("Bearer {token}")).outcome(), "token_mismatch", "{token}");
    }
    let long = "x".repeat(513);
    for value in [
        PLAIN,
        "Bearer",
        "Bearer  ",
        &format!("Bearer\t{PLAIN}"),
        &format!("Bearer{PLAIN}"),
        &format!("Bearer {PLAIN} {PLAIN}"),
        &format!("Bearer {PLAIN} ,"),
        &format!("Basic {PLAIN}"),
        &format!("Token {PLAIN}"),
        &format!("Bearer {long}"),
    ] {
        assert_eq!(bearing(value).outcome(), "malformed_header", "{value}");
    }
    assert_eq!(bearing("").outcome(), "empty_header");
    assert_eq!(bearing("Bearer é").outcome(), "malformed_header");
    let twice = bearing(&format!("Bearer {PLAIN}")).with("Authorization", format!("Bearer {PLAIN}"));
    assert_eq!(twice.outcome(), "repeated_header");
    assert_eq!(request().outcome(), "missing_token");
    assert_eq!(bearing(&format!("Bearer {PLAIN}")).secrets([]).outcome(), "no_secret");
}

#[test]
fn a_signature_is_that_of_standard_webhooks_with_the_same_secret() {
    let signed = request().secrets([key(STANDARD_KEY)]).signed("key-1");
    let by_standard = Request::new(Scheme::StandardWebhooks, standard_key(), NOW, b"{}").signed("key-1");
    assert_eq!(signed.headers, by_standard.headers);
    let verified = signed.clone().secrets([key(PLAIN), key(STANDARD_KEY)]).verdict().unwrap();
    assert_eq!(&verified.secret, key(STANDARD_KEY).fingerprint(), "the secret's own name, not its key's");
    assert_eq!(verified.signed_id.unwrap().as_str(), "key-1");
    assert_eq!(signed.clone().body(b"{ }").outcome(), "signature_mismatch");
    assert_eq!(signed.secrets([key(PLAIN)]).outcome(), "signature_mismatch", "a plain token signs nothing");
}

#[test]
fn the_key_beside_a_signature_must_be_the_signed_one() {
    let signed = || request().secrets([key(STANDARD_KEY)]).signed("key-1");
    assert_eq!(signed().with("Idempotency-Key", "key-1").outcome(), "accepted");
    for other in ["key-2", "key-1 ", "", "KEY-1"] {
        assert_eq!(signed().with("Idempotency-Key", other).outcome(), "unsigned_key", "{other:?}");
    }
    let twice = signed().with("Idempotency-Key", "key-1").with("Idempotency-Key", "key-1");
    assert_eq!(twice.outcome(), "unsigned_key");
}

#[test]
fn a_token_and_a_signature_together_are_refused_even_if_both_are_right() {
    for header in ["webhook-signature", "svix-signature"] {
        let both = bearing(&format!("Bearer {PLAIN}")).with(header, "v1,x");
        assert_eq!(both.outcome(), "mixed_proofs");
    }
    let both =
        request().secrets([key(STANDARD_KEY)]).signed("k").with("Authorization", format!("Bearer {STANDARD_KEY}"));
    assert_eq!(both.outcome(), "mixed_proofs");
}

#[test]
fn only_base64_of_enough_bytes_signs() {
    assert!(signing_key(&key(PLAIN)).is_none());
    assert!(signing_key(&key("whsec_c2hvcnQ=")).is_none(), "an empty or short key can be guessed");
    assert!(signing_key(&key("whsec_")).is_none());
    assert!(signing_key(&key("whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).is_none());
    assert_eq!(signing_key(&key(STANDARD_KEY)).unwrap().expose(), standard_key().expose());
}

#[test]
fn a_secret_that_no_header_can_carry_is_refused_when_it_is_configured() {
    assert!(Scheme::Api.decode_key("sixteen-bytes-ok").is_ok());
    for bad in ["fifteen-bytes--", "with a space in it", "mit-ümlaut-0123456789", &"x".repeat(513)] {
        assert!(Scheme::Api.decode_key(bad).is_err(), "{bad}");
    }
}
