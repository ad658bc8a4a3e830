//! What an attempt sends: the body as it came, the documented headers, a signature of its own.

use bytes::Bytes;
use oncehook::{
    clock::Clock,
    config::{DestinationKind, HttpDestination},
    deliver::Parcel,
    domain::{OutcomeClass, Secret},
};

use crate::support::{
    destination::{Reply, TestDestination},
    parcel::{destinations, name, parcel, settings},
};

#[tokio::test]
async fn the_body_arrives_unchanged_with_its_type_and_the_documented_headers() {
    let destination = TestDestination::start([]).await;
    let to = destinations(DestinationKind::Http(settings(destination.url())), &Clock::system());
    for body in [
        Bytes::new(),
        Bytes::from_static(b"{\"a\":\"\\u0000\", \"b\":\xff}\r\n"),
        Bytes::from(vec![b'x'; 3 * 64 * 1024 + 1]),
    ] {
        let parcel = Parcel { body: body.clone(), is_stale: true, ..parcel() };
        let outcome = to.deliver(&name(), &parcel).await;
        assert_eq!(outcome.class, OutcomeClass::Succeeded, "{outcome:?}");
        let request = destination.received().pop().unwrap();
        assert_eq!(request.request_line, "POST /hooks HTTP/1.1");
        assert!(request.body == body, "the body was changed");
        let delivery = parcel.delivery.to_string();
        let receipt = parcel.receipt.to_string();
        for (header, value) in [
            ("content-type", "application/json"),
            ("x-github-event", "push"),
            ("idempotency-key", delivery.as_str()),
            ("oncehook-source", "github"),
            ("oncehook-event", "push"),
            ("oncehook-receipt", &receipt),
            ("oncehook-delivery-id", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ("oncehook-attempt", "1"),
            ("oncehook-ordering-key", "repository/1"),
            ("oncehook-stale", "true"),
            ("ce-specversion", "1.0"),
            ("ce-id", &receipt),
            ("ce-source", "/hooks/github"),
            ("ce-type", "push"),
            ("ce-subject", "repository/1"),
        ] {
            assert_eq!(request.header(header), Some(value), "{header}");
        }
        assert!(request.header("user-agent").unwrap().starts_with("oncehook/"));
        assert_eq!(request.header("transfer-encoding"), None);
        assert_eq!(request.header("webhook-signature"), None, "a destination without a secret is not signed for");
    }
}

#[tokio::test]
async fn each_attempt_carries_a_fresh_signature_that_the_reference_library_accepts() {
    let destination = TestDestination::start([Reply::Status(500)]).await;
    let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let decoded = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, key).unwrap();
    let clock = Clock::system();
    let signed = HttpDestination { secret: Some(Secret::new(decoded)), ..settings(destination.url()) };
    let to = destinations(DestinationKind::Http(signed), &clock);
    let parcel = parcel();
    to.deliver(&name(), &parcel).await;
    clock.advance(chrono::TimeDelta::minutes(-4));
    to.deliver(&name(), &Parcel { attempt: 2, ..parcel }).await;

    let requests = destination.wait_for(2).await;
    let webhook = standardwebhooks::Webhook::new(key).unwrap();
    for request in &requests {
        let mut headers = reqwest::header::HeaderMap::new();
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            headers.insert(name, request.header(name).unwrap().parse().unwrap());
        }
        webhook.verify(&request.body, &headers).unwrap();
    }
    for same in ["idempotency-key", "webhook-id"] {
        assert_eq!(requests[0].header(same), requests[1].header(same));
    }
    for other in ["webhook-timestamp", "webhook-signature", "oncehook-attempt"] {
        assert_ne!(requests[0].header(other), requests[1].header(other));
    }
}
