//! Tests of routing as a whole.

use std::{cell::Cell, sync::LazyLock, time::Duration};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::{KeyFrom, OnDead, OnStale, Retry, Route};

fn route(name: &str, events: &[&str], filter: Option<&str>) -> Route {
    Route {
        name: name.parse().unwrap(),
        source: "github".parse().unwrap(),
        events: events.iter().map(|text| (*text).to_owned()).collect(),
        filter: filter.map(str::to_owned),
        order: Order::Arrival,
        ordering_key: KeyFrom::Auto,
        on_stale: OnStale::Skip,
        reorder_window: Duration::ZERO,
        on_dead: OnDead::Continue,
        on_dead_destination: None,
        concurrency: None,
        destination: "deployer".parse().unwrap(),
        retry: Retry { attempts: 3, initial: Duration::from_secs(1), max: Duration::from_secs(60) },
    }
}

fn plan(routes: &[Route], event_type: &str, payload: Option<serde_json::Value>) -> Plan {
    let payload = move || payload.clone();
    let event = Event {
        event_type: &EventType::new(event_type),
        ordering_key: Some(&OrderingKey::new("repository/1")),
        body_bytes: 100,
        payload: &payload,
    };
    Routes::compile(routes).unwrap().plan(&"github".parse().unwrap(), &event)
}

/// Why a filter did not want a payload; `None` when it did.
fn judge(filter: &str, payload: serde_json::Value) -> Option<Why> {
    plan(&[route("deploy", &["*"], Some(filter))], "push", Some(payload)).unmatched.pop().map(|(_, why)| why)
}

fn refusal(filter: &str) -> String {
    let mut mistakes = Routes::compile(&[route("deploy", &["*"], Some(filter))]).expect_err(filter);
    assert_eq!((mistakes.len(), mistakes[0].key), (1, "filter"));
    mistakes.remove(0).to_string()
}

#[test]
fn each_matching_route_gets_one_delivery_in_the_order_written() {
    let routes = [route("one", &["push"], None), route("two", &["release.*"], None), route("three", &["x", "*"], None)];
    let plan = plan(&routes, "push", None);
    let names: Vec<_> = plan.deliveries.iter().map(|delivery| delivery.route.as_str()).collect();
    assert_eq!(names, ["one", "three"]);
    assert_eq!(plan.unmatched, [("two".parse().unwrap(), Why::EventType)]);
    assert_ne!(plan.deliveries[0].delivery, plan.deliveries[1].delivery);
    assert_ne!(plan.deliveries[0].job, plan.deliveries[1].job);
    assert!(plan.flags().is_empty());
}

#[test]
fn a_route_of_another_source_is_not_asked() {
    let mut other = route("other", &["*"], None);
    other.source = "stripe".parse().unwrap();
    assert_eq!(plan(&[other], "push", None), Plan::default());
}

#[test]
fn order_decides_the_lane() {
    let mut unordered = route("unordered", &["*"], None);
    unordered.order = Order::None;
    let routes = Routes::compile(&[route("ordered", &["*"], None), unordered]).unwrap();
    let (event_type, key) = (EventType::new("push"), OrderingKey::new("repository/1"));
    let mut event = Event { event_type: &event_type, ordering_key: Some(&key), body_bytes: 2, payload: &|| None };
    let lanes =
        |plan: &Plan| -> Vec<_> { plan.deliveries.iter().map(|delivery| delivery.ordering_key.clone()).collect() };
    let source = "github".parse().unwrap();
    assert_eq!(lanes(&routes.plan(&source, &event)), [Some(key.clone()), None]);

    event.ordering_key = None;
    let plan = routes.plan(&source, &event);
    assert_eq!(lanes(&plan), [Some(OrderingKey::new(DEFAULT_LANE)), None]);
    assert_eq!(plan.flags(), [Flag::new("default_lane: ordered")]);
}

#[test]
fn a_filter_sees_payload_event_and_source() {
    let payload = json!({"ref": "refs/heads/main", "n": 5, "big": u64::MAX, "f": 1.5, "list": ["a", "b"], "commits": [
        {"added": ["docs/x.md"]}, {"added": []}]});
    for yes in [
        "true",
        r#"payload.ref == "refs/heads/main""#,
        r#"event == "push" && source == "github""#,
        "payload.n + 1 == 6",
        "payload.n < 5.5 && payload.f > 1",
        "payload.big > 5u",
        r#"payload.ref.startsWith("refs/heads/") && !payload.ref.endsWith("x")"#,
        r#"payload.ref.matches("^refs/(heads|tags)/")"#,
        r#""a" in payload.list && size(payload.list) == 2 && payload.list[1] == "b""#,
        "has(payload.ref) && !has(payload.missing)",
        r#"payload.commits.exists(c, c.added.exists(f, f.startsWith("docs/")))"#,
        r#"payload.list.filter(x, x == "a").size() == 1"#,
        "payload.list.all(x, type(x) == string)",
    ] {
        assert_eq!(judge(yes, payload.clone()), None, "{yes}");
    }
    for no in ["false", r#"payload.ref == "refs/heads/other""#, "payload.commits.all(c, size(c.added) > 0)"] {
        assert_eq!(judge(no, payload.clone()), Some(Why::FilterFalse), "{no}");
    }
}

#[test]
fn a_filter_that_cannot_judge_counts_as_no_and_is_flagged_without_the_payload() {
    let payload = json!({"text": "canary", "list": ["canary"], "n": 1, "zero": 0, "max": i64::MAX});
    for filter in [
        "payload.missing == 1",
        "payload.text.missing == 1",
        "payload.text",
        "payload.text > 1",
        "payload.text + 1 == 2",
        "payload.list[7] == 1",
        "payload.list[payload.text] == 1",
        "payload[payload.text] == 1",
        "payload.n / payload.zero == 1",
        "payload.max + 1 > 0",
        "payload.text.matches(payload.n)",
        "int(payload.text) == 1",
        "timestamp(payload.text) == timestamp(payload.text)",
        "payload.text.matches('(')",
        "size(payload.n) == 1",
    ] {
        let plan = plan(&[route("deploy", &["*"], Some(filter))], "push", Some(payload.clone()));
        assert!(plan.deliveries.is_empty(), "{filter}");
        assert!(matches!(plan.unmatched[0].1, Why::FilterFailed(_)), "{filter}: {:?}", plan.unmatched);
        let flag = plan.flags().remove(0);
        assert!(flag.as_str().starts_with("filter_failed: deploy: "), "{flag:?}");
        assert!(!flag.as_str().contains("canary"), "{filter}: {flag:?}");
    }
    let Some(Why::FilterFailed(problem)) = judge("payload.missing == 1", payload) else { panic!("it was judged") };
    assert!(problem.contains("no such key: missing"), "{problem}");
}

#[test]
fn a_payload_is_parsed_once_and_only_for_a_filter() {
    let filtered = Some("has(payload.x)");
    for (routes, parsed) in [
        (vec![route("a", &["*"], None)], 0),
        (vec![route("a", &["release.*"], filtered)], 0),
        (vec![route("a", &["*"], filtered), route("b", &["*"], filtered)], 1),
    ] {
        let count = Cell::new(0);
        let payload = || {
            count.set(count.get() + 1);
            Some(json!({}))
        };
        let event = Event { event_type: &EventType::new("push"), ordering_key: None, body_bytes: 2, payload: &payload };
        let _ = Routes::compile(&routes).unwrap().plan(&"github".parse().unwrap(), &event);
        assert_eq!(count.get(), parsed);
    }
}

#[test]
fn an_unusable_or_huge_payload_goes_where_no_filter_is_and_is_flagged_elsewhere() {
    let routes = [route("plain", &["*"], None), route("picky", &["*"], Some("true"))];
    let unusable = plan(&routes, "push", None);
    assert_eq!((unusable.deliveries.len(), &unusable.unmatched[0].1), (1, &Why::PayloadUnusable));
    assert_eq!(unusable.flags().len(), 1);

    let routes = Routes::compile(&routes).unwrap();
    let never = || panic!("a body of this length is not parsed");
    let event_type = EventType::new("push");
    let event =
        Event { event_type: &event_type, ordering_key: None, body_bytes: FILTERED_BYTES_MAX + 1, payload: &never };
    let huge = routes.plan(&"github".parse().unwrap(), &event);
    assert_eq!((huge.deliveries.len(), &huge.unmatched[0].1), (1, &Why::PayloadTooLarge));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let routes =
        [route("one", &["a*", ""], Some("payload.")), route("two", &[], None), route("three", &["push"], None)];
    let mistakes = Routes::compile(&routes).unwrap_err();
    let told: Vec<_> = mistakes.iter().map(|mistake| (mistake.route.as_str(), mistake.key)).collect();
    assert_eq!(told, [("one", "events"), ("one", "events"), ("one", "filter"), ("two", "events")]);
    assert!(mistakes[0].to_string().starts_with("route one: events is \"a*\""), "{}", mistakes[0]);
}

#[test]
fn a_filter_with_a_mistake_is_refused_before_any_event_comes() {
    for bad in ["", "payload.", "payload.ref = 'x'", "(", "1 +", "payload.ref == \"x", "if x"] {
        refusal(bad);
    }
    assert!(refusal("ref == 'x'").contains("payload.ref"));
    assert!(refusal("payload.ref.startWith('x')").contains("startWith"));
    assert!(refusal("payload.a.exists(x, y == 1)").contains("\"y\""));
    assert!(refusal(&format!("true || {}", "x".repeat(5_000))).contains("longer"));
}

#[test]
fn a_payload_cannot_make_a_filter_loop_over_it_again_and_again() {
    for bad in [
        "payload.a.exists(x, payload.a.exists(y, x == y))",
        "payload.a.all(x, x.b.all(y, x.b.all(z, z == y)))",
        "payload.a.map(x, payload.a).exists(l, l.exists(m, m == 1))",
        "payload.a.exists(x, [x, payload.a].exists(y, y == 1))",
    ] {
        assert!(refusal(bad).contains("macro"), "{bad}");
    }
}

#[test]
fn routes_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Routes>();
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        ".{0,8}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map("[abc]|.{0,3}", inner, 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Filters that use each operator and function on whatever a payload holds.
static CURIOUS: LazyLock<Routes> = LazyLock::new(|| {
    let filters = [
        "payload.a == payload.b",
        "payload.a > payload.b",
        "payload.a + payload.b == payload.c",
        "payload.a - payload.b == payload.c",
        "payload.a * payload.b == payload.c",
        "payload.a / payload.b == payload.c",
        "payload.a % payload.b == payload.c",
        "-payload.a == payload.c",
        "payload.a[payload.b]",
        "payload.a in payload.b",
        "payload.a ? true : false",
        "payload.a.b.c == 1",
        "payload == payload",
        "{payload.a: 1}.size() == 1",
        "payload.a.exists(x, x == payload.b)",
        "payload.a.map(x, x) == payload.b",
        "size(payload.a) > 1",
        "string(payload.a) == payload.b",
        "bytes(payload.a) == bytes(payload.b)",
        "int(payload.a) == 1",
        "uint(payload.a) == 1u",
        "double(payload.a) == 1.0",
        "payload.a.startsWith(payload.b)",
        "payload.a.matches(payload.b)",
        "timestamp(payload.a).getFullYear() == 1",
        "duration(payload.a) == duration(payload.b)",
    ];
    let routes: Vec<_> = filters.iter().map(|filter| route("deploy", &["*"], Some(filter))).collect();
    Routes::compile(&routes).unwrap()
});

proptest! {
    #[test]
    fn no_payload_makes_a_filter_panic(payload in any_json()) {
        let payload = move || Some(payload.clone());
        let event =
            Event { event_type: &EventType::new("push"), ordering_key: None, body_bytes: 2, payload: &payload };
        for (_, why) in CURIOUS.plan(&"github".parse().unwrap(), &event).unmatched {
            prop_assert_ne!(why, Why::FilterFailed("the filter could not be evaluated".to_owned()));
        }
    }
}
