//! Signed bodies that no provider ought to send and some do: each is kept to the byte, none stops anything.

use futures_util::{StreamExt as _, stream};
use oncehook::fixture::Fixture;
use serde_json::{Value, json};

use crate::support::{
    app::TestApp,
    sender::{Letter, Reply},
};

async fn stored(app: &TestApp, letter: &Letter, body: &[u8]) -> Reply {
    let reply = letter.send().await.presentable();
    assert_eq!(reply.status, 200, "{} {}", String::from_utf8_lossy(&body[..body.len().min(200)]), reply.text);
    assert_eq!(app.stored_body(&reply.receipt()).await, body);
    reply
}

/// B087, B088, B089: what PostgreSQL cannot hold as JSON or text is held as bytes.
#[tokio::test]
async fn a_body_that_is_no_postgresql_text_is_stored_and_run() {
    let app = TestApp::start().await;
    let bodies: [(&[u8], bool); 7] = [
        (br#"{"a":"x\u0000y","b":"ok"}"#, false),
        (br#"{"a":"C:\\u0000"}"#, false),
        (br#"{"a":"\ud83d"}"#, true),
        (b"{\"name\":\"H\xeblllo\"}", true),
        (b"{\"ref\":\"refs/heads/\\u0000\",\"repository\":{\"id\":1}}", false),
        (b"{\"ref\":\"\\ud83d\",\"repository\":{\"id\":1}}", true),
        (b"\0\0\0", true),
    ];
    for (body, is_flagged) in bodies {
        let reply = stored(&app, &app.sender().github("push", body), body).await;
        let flags = app.flags(&reply.receipt()).await;
        let flagged = flags.iter().any(|flag| flag.starts_with("unparseable"));
        assert_eq!(flagged, is_flagged, "{} {flags:?}", String::from_utf8_lossy(body));
    }
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 7)]);
}

/// B035: the signature is looked at first, so that nobody unknown reaches a parser.
#[tokio::test]
async fn a_signature_counts_before_the_json_and_the_json_never_counts() {
    let app = TestApp::start().await;
    let deep = [vec![b'['; 5_000_000], vec![b']'; 5_000_000]].concat();
    let open = br#"{"a":"#.repeat(1_000_000);
    let number = [b"[1".to_vec(), vec![b'0'; 1_000_000], b"]".to_vec()].concat();
    for body in [&b"{}"[..], b"not JSON", b"{\"a\":", b"[1e999]", b"null", b"\xef\xbb\xbf{}", &deep, &open, &number] {
        let letter = app.sender().github("push", body);
        let lie = letter.clone().signed_over("lie").send().await.presentable();
        assert_eq!((lie.status, lie.problem().as_str()), (401, "signature-mismatch"));
        stored(&app, &letter, body).await;
    }
    app.run_until_idle().await;
    assert_eq!(app.count("select count(*) from oncehook.deliveries where state <> 'succeeded'").await, 0);
}

/// B105: every node of every fixture in turn is something else than it should be.
#[tokio::test]
async fn a_payload_of_an_unexpected_shape_is_stored_all_the_same() {
    let mut app = TestApp::start().await;
    let letters = mutants(&app);
    assert!(letters.len() > 500, "only {} mutants", letters.len());
    // Many at once share their commits.
    let sent = stream::iter(&letters).map(|letter| async move { (letter, letter.send().await) }).buffer_unordered(64);
    sent.for_each(async |(letter, reply)| {
        // Stripe has its id in the body: without one, other bodies under the same stand-in are conflicts.
        let is_kept = ["accepted", "duplicate", "conflict"].contains(&reply.text_of("status").as_str());
        assert!(is_kept, "{}: {}", reply.text, String::from_utf8_lossy(&letter.wire()));
    })
    .await;
    let github = letters.iter().filter(|letter| letter.path() == "github").count();
    assert_eq!(app.counted("github", "accepted").await, github as u64, "GitHub has the id in a header");
    app.may_leave_work();
}

/// Each fixture with each of its nodes replaced once.
fn mutants(app: &TestApp) -> Vec<Letter> {
    let strange = [json!(null), json!({}), json!([]), json!(""), json!(0), json!(true), json!(HUGE)];
    let mut strange = strange.iter().cycle();
    let mut letters = Vec::new();
    for name in Fixture::names() {
        let fixture = Fixture::built_in(&name.provider, &name.name).unwrap();
        let original: Value = serde_json::from_slice(&fixture.body).unwrap();
        for pointer in pointers(&original) {
            let mut changed = original.clone();
            *changed.pointer_mut(&pointer).unwrap() = strange.next().unwrap().clone();
            let body = changed.to_string().replace(&format!("{HUGE:?}"), "1e999");
            let event = fixture.headers.only_text("x-github-event").unwrap_or_default();
            letters.push(match name.provider.as_str() {
                "github" => app.sender().github(event, body),
                "stripe" => app.sender().stripe(&Value::Null).body(body),
                _ => app.sender().standard(body),
            });
        }
    }
    letters
}

/// Stands for a number that no float holds.
const HUGE: &str = "a number beyond all floats";

/// The paths of all nodes, the whole first.
fn pointers(value: &Value) -> Vec<String> {
    let below = |key: String, child: &Value| -> Vec<String> {
        pointers(child)
            .into_iter()
            .map(|rest| format!("/{}{rest}", key.replace('~', "~0").replace('/', "~1")))
            .collect()
    };
    let mut all = vec![String::new()];
    match value {
        Value::Object(members) => all.extend(members.iter().flat_map(|(key, child)| below(key.clone(), child))),
        Value::Array(items) => {
            all.extend(items.iter().enumerate().flat_map(|(place, child)| below(place.to_string(), child)));
        }
        _ => {}
    }
    all
}

/// B114: only id, type, time and account are read, whatever the version of the account's API.
#[tokio::test]
async fn an_event_of_any_version_of_stripe_is_accepted() {
    let app = TestApp::start().await;
    let event = |id: &str, more: Value| {
        let mut event = json!({ "id": id, "object": "event", "type": "charge.refunded", "created": 1_700_000_000 });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let charge = json!({ "object": { "id": "ch_1", "object": "charge", "refunds": null } });
    for body in [
        event("evt_2015", json!({ "api_version": "2015-10-16", "request": "req_1", "data": charge })),
        event("evt_2020", json!({ "api_version": "2020-08-27", "request": { "id": null }, "data": charge })),
        event("evt_basil", json!({ "api_version": "2025-03-31.basil", "data": { "object": null } })),
        event("evt_enum", json!({ "type": "a.type.nobody.knows", "livemode": "perhaps", "data": charge })),
        event("evt_null", json!({ "data": null, "created": null, "account": {}, "pending_webhooks": -1 })),
        event("evt_array", json!({ "data": { "object": [] }, "created": "yesterday" })),
        json!({ "id": "evt_thin", "object": "v2.core.event", "type": "v1.billing.meter.error_report_triggered",
                "created": "2024-09-17T06:20:52.246Z", "related_object": { "id": "mtr_1", "type": "billing.meter" } }),
        json!({ "id": "evt_bare" }),
    ] {
        let reply = stored(&app, &app.sender().stripe(&body), body.to_string().as_bytes()).await;
        assert_eq!(reply.text_of("delivery_id"), body["id"].as_str().unwrap());
    }
    app.run_until_idle().await;
}

/// B099: what a sender writes stands in indices, which have limits.
#[tokio::test]
async fn ids_types_and_keys_of_any_length_never_break_an_index() {
    let app = TestApp::start().await;
    for length in [1, 255, 256, 2_704, 3_000, 8_000] {
        // Not compressible, and equal in all but the last character.
        let long: String =
            (0..length).map(|place| char::from(b'!' + u8::try_from(place * 7919 % 89).unwrap())).collect();
        let by_id = app.sender().push("main").id(&long).send().await.presentable();
        assert_eq!(by_id.status, if length <= 255 { 200 } else { 400 }, "{length}: {}", by_id.text);
        for letter in ["y", "z"] {
            let text = format!("{}{letter}", &long[1..]);
            let body = json!({ "ref": text, "action": text, "repository": { "id": 1 } }).to_string();
            let reply = stored(&app, &app.sender().github("push", body.clone()), body.as_bytes()).await;
            assert!(reply.text_of("event_type").starts_with("push."));
            let event = app.sender().push("main").header("x-github-event", &text);
            assert_eq!(event.send().await.presentable().status, 200, "{length}");
        }
        let evt = json!({ "id": long, "type": long, "data": { "object": { "id": long, "customer": long } } });
        let reply = app.sender().stripe(&evt).send().await.presentable();
        assert_eq!(reply.status, 200, "{length}: {}", reply.text);
    }
    let keys =
        "select count(distinct ordering_key) from oncehook.receipts where source = 'github' and body_bytes > 500";
    assert_eq!(app.count(keys).await, 2 * 5, "keys that differ in their last character stay apart");
    app.run_until_idle().await;
}
