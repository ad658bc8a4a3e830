//! The grammar of Stripe's header. The vector is the one of pitfalls.md.

use super::{NOW, Request, STRIPE_HEX, Scheme, V5_HEX, key};

fn presenting(value: impl Into<Vec<u8>>) -> &'static str {
    Request::stripe().with("Stripe-Signature", value).outcome()
}

/// B012
#[test]
fn spaces_around_elements_and_their_order_do_not_matter() {
    let v1 = format!("v1={STRIPE_HEX}");
    for value in [
        format!("t={NOW},{v1}"),
        format!("t={NOW}, {v1}"),
        format!("t={NOW},\t{v1}"),
        format!("  t={NOW} ,\t {v1}\t"),
        format!("{v1},t={NOW}"),
        format!("t={NOW},v0={V5_HEX},{v1}"),
        format!("t={NOW},{v1},v0=zz"),
        format!("t={NOW},v2={V5_HEX},{v1}"),
        format!("t={NOW},{v1},x==a=b=,=,y="),
    ] {
        assert_eq!(presenting(value.as_str()), "accepted", "{value}");
    }
}

/// B012: the signature that would be right as `v1` is worth nothing under another key.
#[test]
fn no_other_version_is_checked() {
    for other in ["v0", "v2", "V1", "v", "v1a", "v11", "v01", "1", "", "v1 "] {
        assert_eq!(presenting(format!("t={NOW},{other}={STRIPE_HEX}")), "no_supported_signature", "{other}");
    }
    let zeros = "0".repeat(64);
    assert_eq!(presenting(format!("t={NOW},v0={STRIPE_HEX},v1={zeros}")), "signature_mismatch");
}

/// B014, B016, B038
#[test]
fn malformed_headers_are_refused_and_nothing_panics() {
    let v1 = format!("v1={STRIPE_HEX}");
    let cases: Vec<Vec<u8>> = vec![
        "test".into(),
        "t".into(),
        "t=".into(),
        "v1=".into(),
        "t=,v1=".into(),
        "t=abc,v1=zz".into(),
        "=,=,=".into(),
        "v1,t=1".into(),
        ",".repeat(8_192).into(),
        format!("t={NOW}").into(),
        format!("t={NOW},v1").into(),
        format!("t={NOW},v1=").into(),
        format!("t={NOW},v1=zz").into(),
        format!("t={NOW},{v1},").into(),
        format!("t={NOW},,{v1}").into(),
        format!("t={NOW};{v1}").into(),
        format!("t={NOW} {v1}").into(),
        format!("t={NOW},v1={}é", &STRIPE_HEX[..63]).into(),
        [format!("t={NOW},v1={}", &STRIPE_HEX[..63]).as_bytes(), b"\xe9"].concat(),
        v1.clone().into(),
        format!("T={NOW},{v1}").into(),
        format!("t ={NOW},{v1}").into(),
    ];
    for value in cases {
        let outcome = presenting(value.as_slice());
        let refused = ["malformed_header", "no_supported_signature"].contains(&outcome);
        assert!(refused, "{:?} is {outcome}", String::from_utf8_lossy(&value));
    }
}

/// B014: two timestamps would let the sender choose which one is signed and which one is fresh.
#[test]
fn a_second_timestamp_is_refused() {
    for value in [format!("t=1,t={NOW},v1={STRIPE_HEX}"), format!("t={NOW},v1={STRIPE_HEX},t={NOW}")] {
        assert_eq!(presenting(value.as_str()), "malformed_header", "{value}");
    }
}

/// B020
#[test]
fn a_request_without_a_signature_is_refused() {
    assert_eq!(Request::stripe().outcome(), "missing_signature");
    assert_eq!(presenting(""), "empty_header");
    assert_eq!(presenting(" \t"), "empty_header");
    let of_github = Request::stripe().with("X-Hub-Signature-256", format!("sha256={STRIPE_HEX}"));
    assert_eq!(of_github.outcome(), "missing_signature");
}

#[test]
fn a_repeated_header_is_refused_even_if_both_are_right() {
    let value = format!("t={NOW},v1={STRIPE_HEX}");
    let twice = Request::stripe().with("Stripe-Signature", value.as_str()).with("STRIPE-SIGNATURE", value);
    assert_eq!(twice.outcome(), "repeated_header");
}

/// B001: the key is the text, prefix and all; what surrounds it would be part of it.
#[test]
fn the_whole_text_of_the_secret_is_the_key() {
    let header = format!("t={NOW},v1={STRIPE_HEX}");
    let with_key =
        |text: &str| Request::stripe().secrets([key(text)]).with("Stripe-Signature", header.as_str()).outcome();
    assert_eq!(with_key("whsec_test_AAAABBBBCCCCDDDD"), "accepted");
    for other in ["test_AAAABBBBCCCCDDDD", "whsec_test_AAAABBBBCCCCDDDD\n", " whsec_test_AAAABBBBCCCCDDDD"] {
        assert_eq!(with_key(other), "signature_mismatch", "{other:?}");
    }
    assert_eq!(
        Scheme::Stripe.decode_key("whsec_test_AAAABBBBCCCCDDDD").unwrap().expose(),
        b"whsec_test_AAAABBBBCCCCDDDD"
    );
}
