//! Several signatures in one request: every place in the list counts, and the list is bounded.

use super::{super::presented::SIGNATURES_MAX, NOW, Request, STANDARD_BASE64, STRIPE_HEX};

fn stripe_with_right_at(place: usize, length: usize) -> Request {
    let list: Vec<String> =
        (0..length).map(|n| if n == place { format!("v1={STRIPE_HEX}") } else { format!("v1={n:064x}") }).collect();
    Request::stripe().with("Stripe-Signature", format!("t={NOW},{}", list.join(",")))
}

fn standard_with_right_at(place: usize, length: usize) -> Request {
    let list: Vec<String> = (0..length)
        .map(|n| if n == place { format!("v1,{STANDARD_BASE64}") } else { format!("v1,{}A=", "A".repeat(42)) })
        .collect();
    Request::standard().with("webhook-signature", list.join(" "))
}

/// svix C# #2393: a right signature at the end of a list was refused.
#[test]
fn a_right_signature_is_found_at_every_place_of_the_list() {
    for length in 1..=8 {
        for place in 0..length {
            assert_eq!(stripe_with_right_at(place, length).outcome(), "accepted", "stripe {place} of {length}");
            assert_eq!(standard_with_right_at(place, length).outcome(), "accepted", "standard {place} of {length}");
        }
        assert_eq!(stripe_with_right_at(length, length).outcome(), "signature_mismatch");
        assert_eq!(standard_with_right_at(length, length).outcome(), "signature_mismatch");
    }
}

#[test]
fn a_list_is_as_long_as_a_sender_can_have_secrets_and_no_longer() {
    let last = SIGNATURES_MAX - 1;
    assert_eq!(stripe_with_right_at(last, SIGNATURES_MAX).outcome(), "accepted");
    assert_eq!(standard_with_right_at(last, SIGNATURES_MAX).outcome(), "accepted");
    assert_eq!(stripe_with_right_at(0, SIGNATURES_MAX + 1).outcome(), "too_many_signatures");
    assert_eq!(standard_with_right_at(0, SIGNATURES_MAX + 1).outcome(), "too_many_signatures");
}

#[test]
fn signatures_that_cannot_be_read_do_not_hide_the_one_that_can() {
    for bad in ["v1=bad_signature", "v1=", "v1=00", "v1==", "v0=00"] {
        for header in [format!("t={NOW},{bad},v1={STRIPE_HEX}"), format!("t={NOW},v1={STRIPE_HEX},{bad}")] {
            assert_eq!(Request::stripe().with("Stripe-Signature", header.as_str()).outcome(), "accepted", "{header}");
        }
    }
    for bad in ["v1,", "v1", "v1,=", "", "test", "v1a,AAAA", "v1,AAAA"] {
        for header in [format!("{bad} v1,{STANDARD_BASE64}"), format!("v1,{STANDARD_BASE64} {bad}")] {
            assert_eq!(
                Request::standard().with("webhook-signature", header.as_str()).outcome(),
                "accepted",
                "{header}"
            );
        }
    }
}

/// Found by the comparison with the `standardwebhooks` crate: a list with bytes that are no text is no list.
#[test]
fn bytes_that_are_no_ascii_text_spoil_the_whole_list() {
    for bad in [&b"\xe9"[..], "é".as_bytes(), b"\0", b"\x7f", b"\x1b[2J", b"a\r\nb"] {
        let stripe = [format!("t={NOW},v1={STRIPE_HEX},x=").as_bytes(), bad].concat();
        assert_eq!(Request::stripe().with("Stripe-Signature", stripe).outcome(), "malformed_header", "{bad:?}");
        let standard = [format!("v1,{STANDARD_BASE64} ").as_bytes(), bad].concat();
        assert_eq!(Request::standard().with("webhook-signature", standard).outcome(), "malformed_header", "{bad:?}");
    }
}
