//! The form of GitHub's header, and what its absence means.

use super::{Request, V5_HEX};

fn presenting(value: impl Into<Vec<u8>>) -> &'static str {
    Request::github().with("X-Hub-Signature-256", value).outcome()
}

/// B020
#[test]
fn a_request_without_a_signature_is_refused() {
    assert_eq!(Request::github().outcome(), "missing_signature");
    for empty in ["", " ", "\t"] {
        assert_eq!(presenting(empty), "empty_header");
    }
    assert_eq!(presenting("sha256="), "malformed_header", "Forgejo without a secret sends this");
    let of_stripe = Request::github().with("Stripe-Signature", format!("t=1700000000,v1={V5_HEX}"));
    assert_eq!(of_stripe.outcome(), "missing_signature");
}

/// B017
#[test]
fn hex_of_any_case_is_one_signature() {
    let mixed: String =
        V5_HEX.chars().enumerate().map(|(n, c)| if n % 2 == 0 { c.to_ascii_uppercase() } else { c }).collect();
    for digits in [V5_HEX, &V5_HEX.to_ascii_uppercase(), &mixed] {
        assert_eq!(presenting(format!("sha256={digits}")), "accepted", "{digits}");
    }
}

/// B017: the prefix is as GitHub writes it, and so is nothing else.
#[test]
fn the_prefix_has_one_spelling() {
    for prefix in ["SHA256=", "Sha256=", "sha-256=", "sha256:", "sha256 =", " sha256=", "sha512=", "sha1=", "v1=", ""] {
        assert_eq!(presenting(format!("{prefix}{V5_HEX}")), "malformed_header", "{prefix}");
    }
}

/// B016, B017
#[test]
fn what_is_not_64_hex_digits_is_refused() {
    let short = &V5_HEX[..63];
    let cases: Vec<Vec<u8>> = vec![
        short.into(),
        V5_HEX[..62].into(),
        format!("{V5_HEX}0").into(),
        format!("{V5_HEX}00").into(),
        format!("{short}g").into(),
        format!("{short}é").into(),
        [short.as_bytes(), b"\xe9"].concat(),
        [short.as_bytes(), b"\0"].concat(),
        format!("{V5_HEX} ").into(),
        format!(" {V5_HEX}").into(),
        format!("{V5_HEX},sha256={V5_HEX}").into(),
        format!("{V5_HEX}, sha256={V5_HEX}").into(),
        format!("0x{}", &V5_HEX[2..]).into(),
        "０".repeat(64).into(),
    ];
    for digits in cases {
        assert_eq!(presenting([b"sha256=", digits.as_slice()].concat()), "malformed_header", "{digits:02x?}");
    }
}

/// B019: (a) SHA-1 alone, (b) a wrong signature with a right SHA-1, (c) a right one with a wrong SHA-1, (d) an empty one
/// with a right SHA-1.
#[test]
fn sha1_is_never_fallen_back_to() {
    // HMAC-SHA1 of V5 with the key of the vectors, calculated elsewhere.
    let sha1 = "sha1=ce7d116cf7cf7a60cb96b16e345f69a6610e8361";
    let with_sha1 = || Request::github().with("X-Hub-Signature", sha1);
    assert_eq!(with_sha1().outcome(), "sha1_only");
    let wrong = format!("sha256={}", "0".repeat(64));
    assert_eq!(with_sha1().with("X-Hub-Signature-256", wrong).outcome(), "signature_mismatch");
    assert_eq!(with_sha1().with("X-Hub-Signature-256", "").outcome(), "empty_header");
    assert_eq!(with_sha1().with("X-Hub-Signature-256", sha1).outcome(), "malformed_header");
    let right = Request::github()
        .with("X-Hub-Signature", format!("sha1={}", "0".repeat(40)))
        .with("X-Hub-Signature-256", format!("sha256={V5_HEX}"));
    assert_eq!(right.outcome(), "accepted");
}

/// A SHA-256 signature under the old name is no signature: one name, one meaning.
#[test]
fn the_old_header_is_not_read_even_with_a_right_sha256() {
    assert_eq!(Request::github().with("X-Hub-Signature", format!("sha256={V5_HEX}")).outcome(), "sha1_only");
}

#[test]
fn a_repeated_header_is_refused_even_if_both_are_right() {
    let value = format!("sha256={V5_HEX}");
    let twice = Request::github().with("X-Hub-Signature-256", value.as_str()).with("x-hub-signature-256", value);
    assert_eq!(twice.outcome(), "repeated_header");
}

/// B031
#[test]
fn header_names_have_no_case() {
    for name in ["x-hub-signature-256", "X-HUB-SIGNATURE-256", "X-Hub-Signature-256", "x-HUB-sIgNaTuRe-256"] {
        assert_eq!(Request::github().with(name, format!("sha256={V5_HEX}")).outcome(), "accepted", "{name}");
    }
}

/// B032: no event and no handshake is exempt.
#[test]
fn a_ping_needs_a_signature_as_everything_does() {
    let ping = || Request::github().with("X-GitHub-Event", "ping");
    assert_eq!(ping().outcome(), "missing_signature");
    assert_eq!(
        ping().with("X-Hub-Signature-256", format!("sha256={}", "0".repeat(64))).outcome(),
        "signature_mismatch"
    );
    for body in [&b"ssl_check=1&payload=%7B%7D"[..], br#"{"challenge":"x"}"#, br#"{"zen":"x","hook_id":1}"#] {
        assert_eq!(ping().body(body).outcome(), "missing_signature");
    }
}
