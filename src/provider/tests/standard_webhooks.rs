//! Standard Webhooks: the id is a header, the rest of the body is advice.

use bytes::Bytes;

use super::{
    super::{IdentifyError, Provider, identify},
    flags, key, time,
};
use crate::domain::Headers;

fn identify_with(lines: &[(&str, &str)], body: &'static str) -> Result<super::Identity, IdentifyError> {
    let headers: Headers = lines.iter().copied().collect();
    identify(Provider::StandardWebhooks, &headers, &Bytes::from_static(body.as_bytes()))
}

#[test]
fn the_id_is_read_from_the_header_of_the_specification_or_of_svix() {
    for name in ["webhook-id", "Webhook-Id", "svix-id"] {
        assert_eq!(identify_with(&[(name, "msg_1")], "{}").unwrap().delivery_id.as_str(), "msg_1");
    }
    let both = identify_with(&[("svix-id", "msg_2"), ("webhook-id", "msg_1")], "{}").unwrap();
    assert_eq!(both.delivery_id.as_str(), "msg_1");
    let header = "webhook-id";
    assert_eq!(identify_with(&[], "{}"), Err(IdentifyError::DeliveryIdMissing { header }));
    let twice = [("webhook-id", "1"), ("webhook-id", "2"), ("svix-id", "3")];
    assert_eq!(identify_with(&twice, "{}"), Err(IdentifyError::DeliveryIdRepeated { header }));
}

#[test]
fn type_time_and_subject_are_read_where_the_body_has_them() {
    let body = r#"{"type":"user.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52"}}"#;
    let event = identify_with(&[("webhook-id", "msg_1")], body).unwrap();
    assert_eq!((event.event_type.as_str(), key(&event)), ("user.created", Some("data/1f81eb52")));
    assert_eq!(time(&event).as_deref(), Some("timestamp 2022-11-03T20:26:10.344522+00:00"));
    let bare = identify_with(&[("webhook-id", "msg_1")], r#"{"test": 2432232314}"#).unwrap();
    assert_eq!((bare.event_type.as_str(), key(&bare), time(&bare)), ("unknown", None, None));
    assert!(flags(&bare).is_empty());
}
