//! Commands: what their headers say, what their bodies say, and what makes two of them the same.

use bytes::Bytes;

use super::{Identity, Provider, identify, key};
use crate::{
    domain::{Digest, Headers},
    fixture::Fixture,
    provider::IdentifyError,
};

fn headers<'h>(more: impl IntoIterator<Item = (&'h str, &'h str)>) -> Headers {
    std::iter::once(("Idempotency-Key", "key-1")).chain(more).collect()
}

fn command<'h>(more: impl IntoIterator<Item = (&'h str, &'h str)>, body: &str) -> Identity {
    identify(Provider::Api, &headers(more), &Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

#[test]
fn the_fixture_is_the_command_that_its_name_says() {
    let fixture = Fixture::built_in("api", "order.place").unwrap();
    let identity = identify(Provider::Api, &fixture.headers, &fixture.body).unwrap();
    assert_eq!(identity.delivery_id.as_str(), "order-20261120-0042-place");
    assert_eq!(identity.event_type.as_str(), "order.place");
    assert_eq!(key(&identity), Some("order/20261120-0042"));
    assert!(identity.event_time.is_none() && identity.flags.is_empty());
    assert!(!fixture.headers.iter().any(|(name, _)| name.contains("signature") || name == "authorization"));
}

#[test]
fn the_event_type_is_in_the_header_else_in_the_body_else_it_is_command() {
    let header = ("Oncehook-Event", "order.place");
    for (more, body, expected) in [
        (Some(header), r#"{"type":"other"}"#, "order.place"),
        (Some(("Oncehook-Event", " ")), r#"{"type":"other"}"#, "other"),
        (None, r#"{"type":"other"}"#, "other"),
        (None, r#"{"type":""}"#, "command"),
        (None, r#"{"type":7}"#, "command"),
        (None, "no json", "command"),
        (None, "", "command"),
    ] {
        assert_eq!(command(more, body).event_type.as_str(), expected, "{more:?} {body}");
    }
}

#[test]
fn the_key_is_the_idempotency_key_and_only_beside_a_signature_the_signed_id() {
    let id = |lines: &[(&str, &str)]| {
        let headers: Headers = lines.iter().copied().collect();
        identify(Provider::Api, &headers, &Bytes::new()).map(|identity| identity.delivery_id.as_str().to_owned())
    };
    let missing = Err(IdentifyError::DeliveryIdMissing { header: "idempotency-key" });
    assert_eq!(id(&[("webhook-id", "signed"), ("webhook-signature", "v1,x")]).as_deref(), Ok("signed"));
    assert_eq!(id(&[("svix-id", "signed"), ("svix-signature", "v1,x")]).as_deref(), Ok("signed"));
    assert_eq!(id(&[("webhook-id", "not-signed"), ("authorization", "[redacted]")]), missing);
    assert_eq!(id(&[]), missing);
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")];
    assert_eq!(id(&twice), Err(IdentifyError::DeliveryIdRepeated { header: "idempotency-key" }));
    let reserved = id(&[("Idempotency-Key", "rcp_01ke6vafet00000000000000r1")]);
    assert_eq!(reserved, Err(IdentifyError::DeliveryIdReserved), "what is signed for a look is no command");
    for bad in ["", "two words", "\u{e9}"] {
        assert!(matches!(id(&[("Idempotency-Key", bad)]), Err(IdentifyError::DeliveryIdUnusable { .. })), "{bad}");
    }
    for header in ["oncehook-event", "oncehook-ordering-key"] {
        let twice = headers([(header, "a"), (header, "b")]);
        let refusal = identify(Provider::Api, &twice, &Bytes::new()).unwrap_err();
        assert_eq!(refusal, IdentifyError::HeaderRepeated { header });
    }
}

#[test]
fn the_same_body_as_another_command_or_about_something_else_is_another_payload() {
    let body = r#"{"type":"order.place","n":1}"#;
    let plain = command([], body);
    assert_eq!(plain.normalised_digest, Digest::of(body.as_bytes()));
    assert_eq!(command([("Oncehook-Event", "order.place")], body).normalised_digest, plain.normalised_digest);
    let others = [
        command([("Oncehook-Event", "order.cancel")], body),
        command([("Oncehook-Ordering-Key", "order.cancel")], body),
        command([("Oncehook-Event", "order.cancel"), ("Oncehook-Ordering-Key", "order/1")], body),
        command([("Oncehook-Event", "order.cancel"), ("Oncehook-Ordering-Key", "order/2")], body),
        command([], r#"{"type":"order.place", "n":1}"#),
    ];
    let digests: std::collections::BTreeSet<_> = others.iter().map(|other| other.normalised_digest).collect();
    assert_eq!(digests.len(), others.len());
    assert!(!digests.contains(&plain.normalised_digest));
}
