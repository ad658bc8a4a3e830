//! Which lane an event gets, and what is said where it cannot have the one that was asked for.

use super::*;

/// The lane that `body` gets with this ordering key; the flag where it is the default one.
fn lane_of(from: KeyFrom, body: &str) -> Result<String, String> {
    let keyed = Route { ordering_key: from, ..route("deploy", &["*"], None) };
    let (event_type, payload) = (EventType::new("push"), || serde_json::from_str(body).ok());
    let json = serde_json::from_str::<serde_json::Value>(body).is_ok().then_some(body.as_bytes());
    let event = Event { json, ..event(&event_type, &payload) };
    let plan = Routes::compile(&[keyed]).unwrap().plan(&"github".parse().unwrap(), &event);
    match plan.flags().pop() {
        None => Ok(plan.deliveries[0].ordering_key.as_ref().unwrap().as_str().to_owned()),
        Some(flag) => {
            assert_eq!(plan.deliveries[0].ordering_key, Some(OrderingKey::new(DEFAULT_LANE)));
            Err(flag.as_str().to_owned())
        }
    }
}

#[test]
fn an_ordering_key_is_read_where_the_route_says() {
    let body = r#"{"id": 9007199254740993, "huge": 12345678901234567890123, "price": 1.10, "name": "é", "ok": true,
                   "max": 18446744073709551615, "half": 0.5, "list": [{"id": 7}]}"#;
    let pointer = |text: &str| KeyFrom::Pointer(text.to_owned());
    let expression = |text: &str| KeyFrom::Expression(text.to_owned());
    for (from, key) in [
        (pointer("/id"), "9007199254740993"),
        (pointer("/huge"), "12345678901234567890123"),
        (pointer("/price"), "1.10"),
        (pointer("/name"), "é"),
        (pointer("/ok"), "true"),
        (pointer("/list/0/id"), "7"),
        (expression("payload.id"), "9007199254740993"),
        (expression("payload.max"), "18446744073709551615"),
        (expression("payload.half"), "0.5"),
        (expression("payload.ok"), "true"),
        (expression("event + '/' + payload.name"), "push/é"),
    ] {
        assert_eq!(lane_of(from.clone(), body), Ok(key.to_owned()), "{from:?}");
    }
}

#[test]
fn an_event_without_the_ordering_key_goes_to_the_default_lane_and_says_why() {
    let body =
        r#"{"nothing": null, "list": ["canary"], "empty": "", "text": "canary", "huge": 12345678901234567890123}"#;
    let pointer = |text: &str| KeyFrom::Pointer(text.to_owned());
    let expression = |text: &str| KeyFrom::Expression(text.to_owned());
    for (from, why) in [
        (KeyFrom::Auto, "the provider's table has none"),
        (pointer("/missing/id"), "the payload has no /missing/id"),
        (pointer("/nothing"), "/nothing is null"),
        (pointer("/list"), "/list is a list"),
        (pointer("/empty"), "the value is empty"),
        (expression("payload.missing"), "no such key: missing (guard it with has())"),
        (expression("payload.list"), "the expression gave a list instead of a text, a number or a truth value"),
        (expression("payload.text + 1"), "a value of a type that it cannot use"),
        (expression("payload.empty"), "the value is empty"),
        (expression("payload.huge"), "the number is too large to be exact in an expression: use a JSON pointer"),
    ] {
        assert_eq!(lane_of(from.clone(), body), Err(format!("default_lane: deploy: {why}")), "{from:?}");
    }
    for from in [pointer("/id"), expression("payload.id")] {
        assert_eq!(lane_of(from, "{"), Err("default_lane: deploy: the payload is no usable JSON".to_owned()));
    }
}

#[test]
fn a_huge_payload_is_not_searched_for_an_ordering_key() {
    let keyed = |from| Route { ordering_key: from, ..route("deploy", &["*"], None) };
    let routes = [keyed(KeyFrom::Pointer("/id".to_owned())), keyed(KeyFrom::Expression("payload.id".to_owned()))];
    let never = || panic!("a body of this length is not parsed");
    let event_type = EventType::new("push");
    let json = Some(&br#"{"id":1}"#[..]);
    let event = Event { json, body_bytes: FILTERED_BYTES_MAX + 1, ..event(&event_type, &never) };
    let plan = Routes::compile(&routes).unwrap().plan(&"github".parse().unwrap(), &event);
    assert!(plan.in_default_lane.len() == 2 && plan.in_default_lane[0].1.contains("longer"), "{plan:?}");
}

#[test]
fn a_filter_and_an_expression_share_one_parsed_payload() {
    let keyed = Route {
        ordering_key: KeyFrom::Expression("payload.id".to_owned()),
        ..route("deploy", &["*"], Some("payload.id == 1"))
    };
    let count = Cell::new(0);
    let payload = || {
        count.set(count.get() + 1);
        Some(json!({"id": 1}))
    };
    let event_type = EventType::new("push");
    let routes = Routes::compile(&[keyed.clone(), keyed]).unwrap();
    assert_eq!(routes.plan(&"github".parse().unwrap(), &event(&event_type, &payload)).deliveries.len(), 2);
    assert_eq!(count.get(), 1);
}

#[test]
fn an_event_that_has_no_time_goes_by_its_arrival_and_says_so() {
    let by_event = Route { order: Order::Event, ..route("strict", &["*"], None) };
    let routes = Routes::compile(&[by_event, route("plain", &["*"], None)]).unwrap();
    let (event_type, key) = (EventType::new("push"), OrderingKey::new("repository/1"));
    let bare = Event { ordering_key: Some(&key), ..event(&event_type, &|| None) };
    let source = "github".parse().unwrap();
    let plan = routes.plan(&source, &bare);
    assert_eq!(plan.flags(), [Flag::new("by_arrival: strict: the event has neither time nor version")]);
    assert!(plan.deliveries[0].by_event, "it is by event all the same: its lane compares what it can");

    let at = chrono::DateTime::UNIX_EPOCH;
    let timed = Event { event_time: Some(EventTime { at, path: "updated_at" }), ..bare };
    assert_eq!(routes.plan(&source, &timed).flags(), []);
    let version = Version { scale: "attempt".into(), parts: vec![1], chain: None };
    assert_eq!(routes.plan(&source, &Event { version: Some(&version), ..bare }).flags(), []);
}
