//! Known answers: what the providers and their libraries publish, and the byte vectors of pitfalls.md.

use super::{
    GITHUB_KEY, NOW, Request, STANDARD_BASE64, STANDARD_ID, STANDARD_SECONDS, STRIPE_HEX, STRIPE_KEY, Scheme, V5,
    V5_HEX, VerifyError, at, hmac_by_hand, key,
};

/// V1, V5, V6, V9, V10 and V11 of pitfalls.md (B011, B029): key [`GITHUB_KEY`], body in hex, signature in hex.
const GITHUB_VECTORS: [(&str, &str, &str); 6] = [
    ("V1 empty body", "", "91bf623c221721508febd84f9b6c8c5d96e2ae88cd9f768d1b57a3b94a56c98d"),
    ("V5 final LF", "7b0a20202261223a20320a7d0a", V5_HEX),
    (
        "V6 with CRLF",
        "7b0d0a20202261223a20320d0a7d0d0a",
        "463f9b59c6724fc2149f2fa18bb39c4e816868c626a443d73398876aadd026a0",
    ),
    (
        "V9 NUL escape",
        "7b2261223a22785c753030303079222c2262223a226f6b227d",
        "546ac0f71959656067eb9a293b620b31a084c88a41e1d74cba14c77a2b743a38",
    ),
    (
        "V10 lone surrogate",
        "7b2261223a225c7564383364227d",
        "5f2c113eb4e19d36c588761a3cf2f95c1ab6467012adc13fb307d920790701b5",
    ),
    (
        "V11 not UTF-8",
        "7b226e616d65223a2248eb6c6c6f227d",
        "823668fd66267d06740789356171f4b5afec5be1056555eed1007b5f5b308439",
    ),
];

/// V1b: V5 signed with the secret and a line feed behind it.
const V1B_HEX: &str = "5be4184ccf68cd3f7b92b195b7f08fa1346d3d889d16cf41d4d4ce2acce79a37";

/// providers.md A1, from GitHub's "Validating webhook deliveries".
#[test]
fn the_example_of_githubs_documentation_verifies() {
    let request = Request::new(Scheme::GitHub, key("It's a Secret to Everybody"), NOW, b"Hello, World!")
        .with("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    let verified = request.verdict().unwrap();
    assert_eq!(&verified.secret, request.secrets[0].fingerprint());
    assert_eq!((verified.signed_at, verified.signed_id), (None, None), "GitHub signs neither");
    assert_eq!(request.body(b"Hello World!").verdict(), Err(VerifyError::SignatureMismatch));
}

/// providers.md D2: `WebSub` has the same key and form, and a body without the comma.
#[test]
fn the_example_of_websub_verifies() {
    let request = Request::new(Scheme::GitHub, key("It's a Secret to Everybody"), NOW, b"Hello World!")
        .with("X-Hub-Signature-256", "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9");
    assert_eq!(request.outcome(), "accepted");
}

/// providers.md A1: the SHA-1 signature of the same example is right, and proves nothing.
#[test]
fn the_sha1_signature_of_githubs_example_is_refused() {
    let request = Request::new(Scheme::GitHub, key("It's a Secret to Everybody"), NOW, b"Hello, World!")
        .with("X-Hub-Signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59");
    assert_eq!(request.verdict(), Err(VerifyError::Sha1Only));
}

#[test]
fn the_byte_vectors_verify_and_no_other_body_does() {
    for (name, body, signature) in GITHUB_VECTORS {
        let body = hex::decode(body).unwrap();
        let request = Request::github().body(&body).with("X-Hub-Signature-256", format!("sha256={signature}"));
        assert_eq!(request.outcome(), "accepted", "{name}");
        assert_eq!(hex::encode(hmac_by_hand(GITHUB_KEY.as_bytes(), &body)), signature, "{name}, by hand");
        for other in [[body.as_slice(), b"\n"].concat(), [b"\n", body.as_slice()].concat()] {
            assert_eq!(request.clone().body(&other).outcome(), "signature_mismatch", "{name}");
        }
    }
}

/// V1b (B002): a key with a line feed is another key. Whoever reads the secret from a file must have cut it off.
#[test]
fn a_line_feed_behind_the_key_makes_another_key() {
    let request = Request::github().with("X-Hub-Signature-256", format!("sha256={V1B_HEX}"));
    assert_eq!(request.outcome(), "signature_mismatch");
    let untrimmed = request.secrets([key("ghsecret-0123456789\n")]);
    assert_eq!(untrimmed.outcome(), "accepted", "the vector itself is right");
}

/// providers.md B1, vector 2.
#[test]
fn the_stripe_vector_of_providers_verifies() {
    let header = "t=1700000000,v1=d95c6b7477fbd7e9f90b1b0ef5f9c7ac25abca5382460e0d988c2b2a5b71b990";
    let body = br#"{"id":"evt_test_webhook","object":"event"}"#;
    let request = Request::new(Scheme::Stripe, key("whsec_test_secret"), NOW, body).with("Stripe-Signature", header);
    let verified = request.verdict().unwrap();
    assert_eq!((verified.signed_at, verified.signed_id), (Some(at(NOW)), None));
    for other in [&body[..body.len() - 1], &[&body[..], b"\n"].concat(), &[&body[..], b"\r\n"].concat()] {
        assert_eq!(request.clone().body(other).outcome(), "signature_mismatch");
    }
}

/// providers.md B1: the cases of stripe-go about a rolled key.
#[test]
fn a_stripe_event_signed_with_the_old_and_the_rolled_key_verifies_with_either() {
    let (old, rolled) = (key("whsec_test_secret"), key("whsec_test_secret_rolled_key"));
    let body = br#"{"id":"evt_test_webhook","object":"event"}"#;
    let signature = |secret| hex::encode(hmac_by_hand(secret, &[&b"1700000000."[..], body].concat()));
    let header = format!(
        "t=1700000000,v1={},v1={},v1=bad_signature",
        signature(b"whsec_test_secret"),
        signature(b"whsec_test_secret_rolled_key")
    );
    for secret in [old, rolled] {
        let request = Request::new(Scheme::Stripe, secret, NOW, body).with("Stripe-Signature", header.as_str());
        assert_eq!(request.verdict().unwrap().secret, *request.secrets[0].fingerprint());
    }
    let stranger = Request::new(Scheme::Stripe, key("whsec_stranger"), NOW, body).with("Stripe-Signature", header);
    assert_eq!(stranger.outcome(), "signature_mismatch");
}

/// The Stripe vector of pitfalls.md.
#[test]
fn the_stripe_vector_of_pitfalls_verifies() {
    let request = Request::stripe().with("Stripe-Signature", format!("t=1700000000,v1={STRIPE_HEX}"));
    assert_eq!(request.outcome(), "accepted");
    let message = [&b"1700000000."[..], &request.body].concat();
    assert_eq!(hex::encode(hmac_by_hand(STRIPE_KEY.as_bytes(), &message)), STRIPE_HEX);
}

/// providers.md C, vector 1.
#[test]
fn the_first_standard_webhooks_vector_verifies() {
    let request = Request::standard().with("webhook-signature", format!("v1,{STANDARD_BASE64}"));
    let verified = request.verdict().unwrap();
    assert_eq!(verified.signed_at, Some(at(STANDARD_SECONDS)));
    assert_eq!(verified.signed_id.unwrap().as_str(), STANDARD_ID);
    assert_eq!(request.body(V5).outcome(), "signature_mismatch");
}

/// providers.md C, vector 2.
#[test]
fn the_second_standard_webhooks_vector_verifies() {
    let secret = Scheme::StandardWebhooks.decode_key("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap();
    let body = br#"{"email":"test@example.com","username":"test_user"}"#;
    let request = Request::new(Scheme::StandardWebhooks, secret, 1_649_367_553, body)
        .with("webhook-id", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk")
        .with("webhook-timestamp", "1649367553")
        .with("webhook-signature", "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    assert_eq!(request.outcome(), "accepted");
}
