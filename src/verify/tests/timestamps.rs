//! How far a signed timestamp may be from now. Times are real epoch values (B037).

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{NOW, Request, STRIPE_HEX, Scheme, TOLERANCE, at, hmac_by_hand, key, standard_key};
use crate::verify::timestamp::check_fresh;

/// A request signed at `seconds`, whatever the clock says.
fn signed_at(scheme: Scheme, seconds: i64) -> Request {
    let secret = if scheme == Scheme::Stripe { key("whsec_test_secret") } else { standard_key() };
    let request = Request::new(scheme, secret, seconds, b"{}").signed("msg_1");
    Request { now: at(NOW), ..request }
}

const TIMED: [Scheme; 2] = [Scheme::Stripe, Scheme::StandardWebhooks];

/// B037
#[test]
fn the_tolerance_holds_both_ways_and_to_the_second() {
    for scheme in TIMED {
        for (off, outcome) in [
            (-301, "stale_timestamp"),
            (-300, "accepted"),
            (-1, "accepted"),
            (0, "accepted"),
            (1, "accepted"),
            (300, "accepted"),
            (301, "future_timestamp"),
            (3_600, "future_timestamp"),
            (-86_400, "stale_timestamp"),
        ] {
            assert_eq!(signed_at(scheme, NOW + off).outcome(), outcome, "{scheme:?} {off}");
        }
    }
}

#[test]
fn a_part_of_a_second_does_not_count() {
    for scheme in TIMED {
        let nearly_over = at(NOW) + chrono::TimeDelta::milliseconds(999);
        let request = Request { now: nearly_over, ..signed_at(scheme, NOW - 300) };
        assert_eq!(request.outcome(), "accepted");
        assert_eq!(Request { tolerance: Duration::from_millis(299_999), ..request }.outcome(), "stale_timestamp");
    }
}

/// B038: zero is the same second, and never "unchecked"; the largest tolerance overflows nothing.
#[test]
fn extreme_tolerances_mean_what_they_say() {
    for scheme in TIMED {
        for (tolerance, off, outcome) in [
            (Duration::ZERO, 0, "accepted"),
            (Duration::ZERO, -1, "stale_timestamp"),
            (Duration::ZERO, 1, "future_timestamp"),
            (Duration::MAX, -NOW, "accepted"),
            (Duration::MAX, NOW, "accepted"),
        ] {
            let request = Request { tolerance, ..signed_at(scheme, NOW + off) };
            assert_eq!(request.outcome(), outcome, "{scheme:?} {tolerance:?} {off}");
        }
    }
}

/// B037: the vector "stripe ms t", which is signed as it should be.
#[test]
fn a_timestamp_in_milliseconds_is_too_far_ahead() {
    let request = Request::stripe().with(
        "Stripe-Signature",
        "t=1700000000000,v1=e294f7e4c24eb227f00b30f1a92c585ef55e1436ebf99780eaa2967c36a51ad4",
    );
    let error = request.verdict().unwrap_err();
    assert_eq!(error.reason(), "future_timestamp");
    assert!(error.to_string().contains("not in seconds"), "{error}");
    let then = Request { now: at(1_700_000_000_000), ..request };
    assert_eq!(then.outcome(), "accepted", "the vector's signature is right");
}

/// What every scheme does with a timestamp that is spelled like this, the signature over it being right.
fn outcomes_of(text: &str) -> [&'static str; 2] {
    let stripe_key = key("whsec_test_secret");
    let stripe_mac = hex::encode(hmac_by_hand(stripe_key.expose(), format!("{text}.{{}}").as_bytes()));
    let stripe = Request::new(Scheme::Stripe, stripe_key, NOW, b"{}")
        .with("Stripe-Signature", format!("t={text},v1={stripe_mac}"));
    let mac = BASE64_STANDARD.encode(hmac_by_hand(standard_key().expose(), format!("msg_1.{text}.{{}}").as_bytes()));
    let standard = Request::new(Scheme::StandardWebhooks, standard_key(), NOW, b"{}")
        .with("webhook-id", "msg_1")
        .with("webhook-timestamp", text)
        .with("webhook-signature", format!("v1,{mac}"));
    [stripe.outcome(), standard.outcome()]
}

/// B014, B038
#[test]
fn a_timestamp_that_is_no_number_never_skips_the_check() {
    assert_eq!(outcomes_of("1700000000"), ["accepted"; 2]);
    for text in [
        "abc",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "0x10",
        "1700000000abc",
        "１７００００００００",
        "1700000000.0",
        "1e9",
        "1.7e9",
        "+1700000000",
        "-1700000000",
        "-1",
        "-0",
        "00",
        "01700000000",
        "1_700_000_000",
        "1700000000 0",
        "1700000000\0",
        "99999999999999999999",
        "9223372036854775808",
        "18446744073709551616",
    ] {
        assert_eq!(outcomes_of(text), ["malformed_header"; 2], "{text}");
    }
}

#[test]
fn spaces_at_a_timestamp_are_never_part_of_it() {
    for text in [" 1700000000", "\t1700000000"] {
        assert_eq!(outcomes_of(text), ["malformed_header"; 2], "{text:?}");
    }
    // Behind it the space is at the border of Stripe's element, where it is passed over; it is not signed either.
    assert_eq!(outcomes_of("1700000000 "), ["signature_mismatch", "malformed_header"]);
    let behind = Request::stripe().with("Stripe-Signature", format!("t=1700000000 ,v1={STRIPE_HEX}"));
    assert_eq!(behind.outcome(), "accepted");
}

/// faults.md: the `standardwebhooks` crate subtracts unchecked here.
#[test]
fn the_ends_of_the_number_range_are_refused_without_overflow() {
    assert_eq!(outcomes_of("9223372036854775807"), ["future_timestamp"; 2]);
    assert_eq!(outcomes_of("9223372036854775806"), ["future_timestamp"; 2]);
    assert_eq!(outcomes_of("-9223372036854775808"), ["malformed_header"; 2]);
    assert_eq!(outcomes_of("0"), ["stale_timestamp"; 2]);
    for clock in [chrono::DateTime::<chrono::Utc>::MIN_UTC, chrono::DateTime::<chrono::Utc>::MAX_UTC] {
        for scheme in TIMED {
            for tolerance in [Duration::ZERO, Duration::MAX] {
                let request = Request { now: clock, tolerance, ..signed_at(scheme, NOW) };
                assert_eq!(request.verdict().is_ok(), tolerance == Duration::MAX, "{scheme:?} {clock}");
            }
        }
    }
    let beyond_the_calendar = check_fresh(i64::MAX, Duration::MAX, at(NOW));
    assert_eq!(beyond_the_calendar.unwrap_err().reason(), "future_timestamp");
    assert_eq!(check_fresh(i64::MIN, TOLERANCE, at(NOW)).unwrap_err().reason(), "stale_timestamp");
}

/// GitHub signs no time: old deliveries verify, and replays are the business of the replay guard (B053).
#[test]
fn github_requests_have_no_age() {
    let request = Request::github().signed("");
    for seconds in [0, 4_000_000_000] {
        assert_eq!(Request { now: at(seconds), ..request.clone() }.outcome(), "accepted");
    }
}

/// The headers tell, before any of the body has been read.
#[test]
fn a_stale_request_is_refused_before_its_body() {
    let request = signed_at(Scheme::Stripe, NOW - 301);
    let begun = crate::verify::begin(request.scheme, &request.secrets, TOLERANCE, &request.headers, request.now);
    assert_eq!(begun.unwrap_err().reason(), "stale_timestamp");
}
