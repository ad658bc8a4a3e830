//! Stripe: snapshot events of every age, thin events, and bodies that are neither.

use super::{flags, key, stripe, time};
use crate::provider::PayloadForm;

/// B114: events of every API version, each field of another type than today's.
#[test]
fn events_of_every_api_version_are_identified() {
    for (body, ordering_key) in [
        (
            r#"{"id":"evt_1","type":"charge.succeeded","created":1420070400,"livemode":true,"object":"event","api_version":"2015-01-01","request":"iar_1","data":{"object":{"id":"ch_1"}}}"#,
            "ch_1",
        ),
        (
            r#"{"id":"evt_1","type":"charge.succeeded","created":1420070400,"livemode":true,"object":"event","api_version":"2020-08-27","request":{"id":null},"data":{"object":{"id":"ch_1","refunds":null}}}"#,
            "ch_1",
        ),
        (
            r#"{"id":"evt_1","type":"charge.succeeded","created":1420070400,"livemode":true,"api_version":"2025-03-31.basil","context":null,"account":null,"data":{"object":{"id":"ch_1"},"previous_attributes":null}}"#,
            "ch_1",
        ),
        (
            r#"{"id":"evt_1","type":"charge.succeeded","created":1420070400,"livemode":true,"object":"v2.core.event","related_object":{"id":"mtr_1"}}"#,
            "mtr_1",
        ),
        (
            r#"{"id":"evt_1","type":"charge.succeeded","created":1420070400,"data":{"object":{"object":"balance","livemode":"new"}}}"#,
            "balance",
        ),
    ] {
        let identity = stripe(body);
        assert_eq!(identity.delivery_id.as_str(), "evt_1");
        assert_eq!(identity.event_type.as_str(), "charge.succeeded");
        assert_eq!(key(&identity), Some(ordering_key));
        assert_eq!(time(&identity).as_deref(), Some("created 2015-01-01T00:00:00+00:00"));
        assert!(flags(&identity).is_empty(), "{:?}", identity.flags);
    }
}

/// B114: only the id is needed.
#[test]
fn an_event_needs_nothing_but_its_id() {
    for body in [
        r#"{"id":"evt_1"}"#,
        r#"{"id":"evt_1","type":null,"created":null,"livemode":null,"account":null,"data":null,"object":null}"#,
        r#"{"id":"evt_1","type":{},"created":[],"livemode":"","account":0.5,"data":[],"object":true}"#,
    ] {
        let identity = stripe(body);
        assert_eq!((identity.delivery_id.as_str(), identity.event_type.as_str()), ("evt_1", "unknown"));
        assert_eq!((key(&identity), time(&identity)), (None, None));
    }
}

#[test]
fn a_thin_event_about_nothing_has_no_ordering_key_and_no_flag() {
    let ping = stripe(
        r#"{"id":"evt_1","object":"v2.core.event","type":"v2.core.event_destination.ping","created":"2024-03-07T18:27:56.000Z","related_object":null}"#,
    );
    assert_eq!((key(&ping), flags(&ping)), (None, Vec::new()));
    assert_eq!(time(&ping).as_deref(), Some("created 2024-03-07T18:27:56+00:00"));
}

/// B055: an object id is unique within its account only.
#[test]
fn objects_of_two_accounts_do_not_wait_for_one_another() {
    let event = |owner: &str| stripe(format!(r#"{{"id":"evt_1",{owner}"data":{{"object":{{"id":"cus_1"}}}}}}"#));
    let (own, one, two) = (event(""), event(r#""account":"acct_1","#), event(r#""account":"acct_2","#));
    assert_eq!((key(&own), key(&one), key(&two)), (Some("cus_1"), Some("acct_1/cus_1"), Some("acct_2/cus_1")));
    assert_eq!(flags(&one), ["account: acct_1"], "the record shows the account");
    assert_eq!(key(&event(r#""context":"acct_1/acct_2","#)), Some("acct_1%2Facct_2/cus_1"));
}

/// B055: one id with and without account is one event with two payloads.
#[test]
fn an_event_with_and_without_its_account_is_one_event_with_two_payloads() {
    let (with, without) = (stripe(r#"{"id":"evt_1","account":"acct_1"}"#), stripe(r#"{"id":"evt_1"}"#));
    assert_eq!(with.delivery_id, without.delivery_id);
    assert_ne!(with.normalised_digest, without.normalised_digest);
}

/// B056: test events reach live endpoints of Connect platforms.
#[test]
fn test_mode_is_flagged_and_its_absence_is_not() {
    assert_eq!(flags(&stripe(r#"{"id":"evt_1","livemode":false,"data":{"object":{"id":"x"}}}"#)), ["test mode"]);
    for live in [r#""livemode":true,"#, r#""livemode":null,"#, r#""livemode":"false","#, ""] {
        let event = stripe(format!(r#"{{"id":"evt_1",{live}"data":{{"object":{{"id":"x"}}}}}}"#));
        assert!(flags(&event).is_empty(), "{live}");
    }
}

/// B058: the live counter is no difference, everything else is.
#[test]
fn a_retry_with_another_count_of_pending_webhooks_is_the_same_payload() {
    let event = |pending: &str, amount: u32| {
        stripe(format!(r#"{{"id":"evt_1",{pending}"data":{{"object":{{"id":"ch_1","amount":{amount}}}}},"type":"x"}}"#))
    };
    let first = event(r#""pending_webhooks":2,"#, 5);
    let retry = event(r#""pending_webhooks": 1, "#, 5);
    assert_ne!(first.body_digest, retry.body_digest);
    assert_eq!(first.normalised_digest, retry.normalised_digest);
    assert_eq!(first.normalised_digest, event("", 5).normalised_digest);
    assert_ne!(first.normalised_digest, event(r#""pending_webhooks":2,"#, 6).normalised_digest);
}

#[test]
fn the_order_of_members_is_no_difference_and_a_shifted_border_is_one() {
    let digest = |body: &str| stripe(body.to_owned()).normalised_digest;
    assert_eq!(digest(r#"{"id":"evt_1","type":"x"}"#), digest(r#" {"type":"x", "id":"evt_1"} "#));
    assert_eq!(digest(r#"{"\u0069d":"evt_1"}"#), digest(r#"{"id":"evt_1"}"#));
    assert_ne!(
        digest(r#"{"a":1,"a":2}"#),
        digest(r#"{"a":2,"a":1}"#),
        "the last of repeated keys is the one that counts"
    );
    assert_ne!(digest(r#"{"a":"x","b":"y"}"#), digest(r#"{"a":"y","b":"x"}"#));
    assert_ne!(digest(r#"{"ab":1}"#), digest(r#"{"a":1}"#));
}

#[test]
fn a_body_without_usable_id_is_known_by_its_digest() {
    for body in [
        r#"{"type":"invoice.paid"}"#,
        r#"{"id":null}"#,
        r#"{"id":""}"#,
        r#"{"id":7}"#,
        r#"{"id":"evt 1"}"#,
        r#"{"id":"evt_\ud83d"}"#,
        "[]",
        "not JSON",
        "",
    ] {
        let identity = stripe(body);
        assert_eq!(identity.delivery_id.as_str(), format!("sha256:{}", identity.body_digest), "{body}");
        assert!(flags(&identity).iter().any(|flag| flag.starts_with("no usable event id")), "{body}");
    }
    // B099: an id that no index could hold.
    let long = stripe(format!(r#"{{"id":"{}"}}"#, "x".repeat(3_000)));
    assert!(long.delivery_id.as_str().starts_with("sha256:"));
}

#[test]
fn what_is_no_object_is_compared_byte_by_byte() {
    for body in ["[1]", "not JSON", "", "{\"a\":\"\u{0}\"}"] {
        let identity = stripe(body);
        assert_eq!(identity.normalised_digest, identity.body_digest, "{body}");
    }
    assert_eq!(stripe("not JSON").payload, PayloadForm::Opaque);
    let many: String = (0..2_000).map(|place| format!("\"k{place}\":0,")).collect();
    let many = stripe(format!("{{{many}\"id\":\"evt_1\"}}"));
    assert_eq!(many.normalised_digest, many.body_digest, "the memory for sorting is bounded");
    assert_eq!(many.delivery_id.as_str(), "evt_1");
}
