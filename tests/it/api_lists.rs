//! Looking through `/api/v1`: lists in pages, single things, and what a question is answered that is wrong. Each answer is held
//! against the description.

use reqwest::Method;
use serde_json::json;

use crate::support::{
    app::TestApp,
    scene::{Scene, items, text},
    visitor::reply,
};

#[tokio::test]
async fn everything_that_can_be_looked_at_is_answered_as_described() {
    let scene = Scene::start().await;
    let viewer = scene.app.viewer();
    let Scene { receipt, dead, conflict, .. } = &scene;
    for path in [
        "/receipts",
        "/deliveries",
        "/dead-letters",
        "/dead-letters/groups",
        "/lanes",
        "/conflicts",
        "/sources",
        "/routes",
        "/destinations",
        "/audit",
        "/receipts?held=true",
        "/receipts?source=github&type=push&state=dead&limit=1",
        "/receipts?path=ref&value=refs/heads/main",
    ] {
        if path != "/audit" {
            assert!(!items(&viewer.see(path).await).is_empty(), "{path}: nothing to see");
        }
    }
    for path in ["/pauses", "/bulks", "/audit", "/receipts?unmatched=true"] {
        assert_eq!(items(&viewer.see(path).await).len(), 0, "{path}");
    }
    for path in [
        "/stats",
        "/me",
        "/sources/github",
        &format!("/receipts/{receipt}/why"),
        &format!("/deliveries/{dead}"),
        &format!("/conflicts/{conflict}"),
        &format!("/conflicts/{conflict}/payload"),
        &format!("/receipts/{receipt}/payload"),
    ] {
        viewer.see(path).await;
    }
    let story = viewer.see(&format!("/receipts/{receipt}")).await;
    let attempt = text(&viewer.see(&format!("/deliveries/{dead}")).await["attempts"][0]["attempt"]);
    assert_eq!(viewer.see(&format!("/attempts/{attempt}")).await["answer_status"], 422);
    assert_eq!(story["receipt"], *receipt);
    let me = viewer.see("/me").await;
    assert_eq!(
        (me["operator"].as_str(), me["role"].as_str(), me["via"].as_str()),
        (Some("viewer"), Some("read"), Some("api"))
    );
    for (id, found) in [(receipt.as_str(), "receipt"), (dead, "receipt"), ("nothing-of-the-kind", "nothing")] {
        assert_eq!(viewer.see(&format!("/look-up?id={id}")).await["found"], found, "{id}");
    }
}

#[tokio::test]
async fn arrivals_of_a_receipt_begin_with_the_first() {
    let scene = Scene::start().await;
    let viewer = scene.app.viewer();
    let conflict = viewer.see("/conflicts").await["items"][0].clone();
    let arrivals = viewer.see(&format!("/receipts/{}/arrivals", text(&conflict["receipt"]))).await;
    let kinds: Vec<_> = items(&arrivals).iter().map(|line| text(&line["kind"])).collect();
    assert_eq!(kinds, ["first", "conflict", "duplicate"]);
}

#[tokio::test]
async fn a_list_is_walked_page_by_page_with_nothing_twice_and_nothing_left_out() {
    let mut app = TestApp::start_with_api("").await;
    app.may_leave_work();
    for number in 0..7 {
        app.sender().push(&format!("b{number}")).send().await;
    }
    let (mut seen, mut path) = (Vec::new(), "/receipts?limit=3".to_owned());
    loop {
        let page = app.viewer().see(&path).await;
        seen.extend(items(&page).iter().map(|line| text(&line["receipt"])));
        let Some(next) = page["next"].as_str() else { break };
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        path = format!("/receipts?limit=3&cursor={next}");
    }
    let mut sorted = seen.clone();
    sorted.sort();
    sorted.dedup();
    sorted.reverse();
    assert_eq!((seen.len(), &seen), (7, &sorted), "newest first");
}

#[tokio::test]
async fn a_wrong_question_is_told_what_to_write_instead() {
    let app = TestApp::start_with_api("").await;
    let mut said = Vec::new();
    for path in [
        "/receipts?sorce=github",
        "/receipts?colour=red",
        "/me?x=1",
        "/receipts?limit=0",
        "/receipts?limit=501",
        "/receipts?limit=many",
        "/receipts?limit=5&limit=6",
        "/receipts?state=done",
        "/receipts?held=perhaps",
        "/receipts?since=yesterday",
        "/receipts?since=%2B262000-01-01T00:00:00Z",
        "/receipts?source=a%00b",
        "/receipts?cursor=zzz",
        "/dead-letters?state=queued",
        "/receipts/rcp_1",
        "/receipts/dlv_01ke6vafet00000000000000r1",
        "/conflicts/x",
        "/bulks/1",
        "/sources/GitHub",
        "/look-up",
    ] {
        let reply = app.viewer().get(path).await;
        assert_eq!(
            (reply.status, reply.text_of("type").as_str()),
            (400, "urn:oncehook:problem:invalid"),
            "{path}: {}",
            reply.text
        );
        said.push(format!("{path}: {}", reply.text_of("detail")));
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test]
async fn a_wrong_method_path_or_body_is_told_so() {
    let app = TestApp::start_with_api("").await;
    let keeper = app.keeper();
    let refused = reply(keeper.request(Method::DELETE, "/receipts")).await;
    assert_eq!((refused.status, refused.header("allow").as_deref()), (405, Some("GET, HEAD")));
    let refused = reply(keeper.request(Method::GET, "/lanes/unblock")).await;
    assert_eq!((refused.status, refused.header("allow").as_deref()), (405, Some("POST")));
    let missing = reply(keeper.request(Method::GET, "/recipts")).await;
    assert_eq!((missing.status, missing.text_of("type").as_str()), (404, "urn:oncehook:problem:no-such-path"));
    let head = reply(keeper.request(Method::HEAD, "/receipts")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));

    let send = |body: String, kind: &'static str| {
        let request = keeper.request(Method::POST, "/lanes/unblock").header("idempotency-key", "a");
        reply(request.header("content-type", kind).body(body))
    };
    let json = "application/json";
    assert_eq!(send("{}".to_owned(), "text/plain").await.status, 415);
    assert_eq!(send("x".repeat(65 * 1024), json).await.status, 413);
    let mut said = Vec::new();
    for body in [
        json!({}),
        json!([]),
        json!({ "route": "No Name", "ordering_key": "a" }),
        json!({ "route": "a", "ordering_key": "b", "raison": "x" }),
        json!({ "route": "a", "ordering_key": "b\0" }),
        json!({ "route": "a", "ordering_key": "b", "reason": "x".repeat(501) }),
    ] {
        let reply = send(body.to_string(), json).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.text);
        said.push(reply.text_of("detail"));
    }
    said.push(send("{".to_owned(), json).await.text_of("detail"));
    let typo = json!({ "action": "retry", "filter": { "rout": "a" } });
    said.push(app.keeper().post("/bulks?dry_run=true", "a", &typo).await.text_of("detail"));
    insta::assert_snapshot!(said.join("\n"));
    assert_eq!(
        app.count("select count(*) from oncehook.operator_requests").await,
        0,
        "no key is spent on a wrong request"
    );
}

#[tokio::test]
async fn a_payload_comes_as_text_as_its_exact_bytes_and_as_a_fixture() {
    let mut app = TestApp::start_with_api("").await;
    app.may_leave_work();
    let body = b"{\"ref\":\"\\u0000<script>\", \"x\": \xff}".to_vec();
    let sent = app.sender().github("push", body.clone()).header("authorization", "Bearer canary").send().await;
    let at = format!("/receipts/{}/payload", sent.text_of("receipt"));
    let text = app.viewer().see(&at).await;
    assert_eq!((text["bytes"].as_u64(), &text["text"]), (Some(body.len() as u64), &json!(null)));
    assert!(text["base64"].is_string() && !text.to_string().contains("canary"), "{text}");
    let bytes = async |path: String| {
        let response = app.viewer().request(Method::GET, &path).send().await.unwrap();
        let headers = response.headers().clone();
        (headers, response.bytes().await.unwrap().to_vec())
    };
    let (headers, raw) = bytes(format!("{at}?format=raw")).await;
    assert_eq!(raw, body);
    assert_eq!(
        (&headers["content-type"], &headers["x-content-type-options"]),
        (&"application/octet-stream".parse().unwrap(), &"nosniff".parse().unwrap())
    );
    let name = headers["content-disposition"].to_str().unwrap().to_owned();
    assert_eq!(name, format!("attachment; filename=\"{}.bin\"", sent.text_of("receipt")));
    let (_, file) = bytes(format!("{at}?format=http")).await;
    let fixture = oncehook::fixture::Fixture::parse(&file).unwrap();
    assert_eq!(fixture.body.to_vec(), body);
    assert_eq!(fixture.headers.only_text("x-github-event"), Some("push"));
    assert!(fixture.headers.iter().all(|(name, _)| !name.contains("signature") && name != "authorization"));

    let scene_conflict = Scene::start().await;
    let at = format!("/conflicts/{}/payload", scene_conflict.conflict);
    let viewer = scene_conflict.app.viewer();
    assert!(text_of(&viewer.see(&format!("{at}?side=other")).await).contains("evil"));
    assert!(text_of(&viewer.see(&format!("{at}?side=first")).await).contains("main"));
}

fn text_of(payload: &serde_json::Value) -> String {
    text(&payload["text"])
}
