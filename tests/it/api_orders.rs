//! Orders through `/api/v1`: each is carried out once for its Idempotency-Key, whatever happens to the client and the server.

use chrono::TimeDelta;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::support::{
    scene::{Scene, items, text},
    visitor::reply,
};

const REQUESTS: &str = "select count(*) from oncehook.operator_requests";
const RETRIES: &str = "select count(*) from oncehook.audit where action = 'retry'";

#[tokio::test]
async fn every_order_is_carried_out_as_described_and_written_into_the_audit_log() {
    let scene = Scene::start().await;
    let keeper = scene.app.keeper();
    let why = json!({ "reason": "since it must" });
    let lane = scene.blocked_lane().await;
    let picked = json!({ "action": "retry", "filter": { "route": "deploy" }, "only": [scene.dead], "expect": 1 });
    let counted = keeper.post("/bulks?dry_run=true", "unused", &picked).await;
    assert_eq!((counted.status, counted.json()["count"].as_i64()), (200, Some(1)), "{}", counted.text);
    let mut done = Vec::new();
    for (number, (path, body, status)) in [
        ("/routes/deploy/pause".to_owned(), &why, 200),
        ("/routes/deploy/resume".to_owned(), &why, 200),
        ("/destinations/desk/pause".to_owned(), &why, 200),
        ("/destinations/desk/resume".to_owned(), &why, 200),
        ("/lanes/unblock".to_owned(), &lane, 200),
        ("/lanes/unblock".to_owned(), &lane, 409),
        (format!("/deliveries/{}/retry", scene.dead), &why, 200),
        (format!("/deliveries/{}/cancel", scene.dead), &why, 200),
        (format!("/deliveries/{}/discard", scene.dead), &why, 409),
        (format!("/receipts/{}/replay", scene.receipt), &json!({ "route": "deploy" }), 200),
        (format!("/receipts/{}/release", scene.held), &why, 200),
        (format!("/conflicts/{}/promote", scene.conflict), &why, 200),
        (format!("/conflicts/{}/promote", scene.conflict), &why, 409),
        ("/receipts/rcp_01ke6vafet00000000000000r1/replay".to_owned(), &why, 404),
        ("/bulks".to_owned(), &json!({ "action": "replay", "filter": {} }), 202),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = keeper.post(&path, &format!("order-{number}"), body).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
        done.push(reply);
    }
    let bulk = done.last().unwrap().text_of("bulk");
    let stopped = keeper.post(&format!("/bulks/{bulk}/stop"), "stop", &json!({})).await;
    assert!(matches!(stopped.status, 200 | 409), "{}", stopped.text);
    keeper.see(&format!("/bulks/{bulk}")).await;
    let audit = keeper.see("/audit?operator=keeper").await;
    assert!(items(&audit).len() >= 11, "{audit}");
    assert!(items(&audit).iter().all(|entry| entry["via"] == "api"));
}

#[tokio::test]
async fn the_same_request_again_gets_the_same_answer_and_nothing_is_done_twice() {
    let scene = Scene::start().await;
    let keeper = scene.app.keeper();
    let path = format!("/deliveries/{}/retry", scene.dead);
    let first = keeper.post(&path, "key-1", &json!({})).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{}", first.text);
    scene.app.run_until_idle().await;
    for _ in 0..2 {
        let again = keeper.post(&path, "key-1", &json!({})).await;
        assert_eq!((again.status, &again.text), (200, &first.text));
        assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
    }
    assert_eq!(scene.app.count(RETRIES).await, 1);

    // A refusal is an answer too.
    let cancelled = format!("/deliveries/{}/cancel", scene.delivered);
    let refused = keeper.post(&cancelled, "key-2", &json!({})).await;
    let again = keeper.post(&cancelled, "key-2", &json!({})).await;
    assert_eq!((refused.status, again.status, &again.text), (409, 409, &refused.text));
    assert_eq!(again.header("content-type").as_deref(), Some("application/problem+json"));

    for (path, body) in [(&path, json!({ "reason": "other" })), (&cancelled, json!({}))] {
        let other = keeper.post(path, "key-1", &body).await;
        assert_eq!((other.status, other.text_of("type").as_str()), (422, "urn:oncehook:problem:key-reused"));
    }
    // The keys of another operator are others.
    let theirs = scene.app.token("other", oncehook::operate::Role::Operate, None).await;
    let request = scene.app.visitor().post(&format!("/api/v1{cancelled}")).bearer_auth(theirs);
    let reply = reply(request.header("idempotency-key", "key-1")).await;
    assert_eq!((reply.status, reply.text_of("type").as_str()), (409, "urn:oncehook:problem:refused"), "{}", reply.text);
}

#[tokio::test]
async fn an_order_without_a_usable_key_is_refused_and_a_dry_run_needs_none() {
    let scene = Scene::start().await;
    let path = format!("/deliveries/{}/retry", scene.dead);
    let post = |path: &str| scene.app.keeper().request(Method::POST, path);
    let missing = reply(post(&path)).await;
    assert_eq!((missing.status, missing.text_of("type").as_str()), (400, "urn:oncehook:problem:no-key"));
    let twice = reply(post(&path).header("idempotency-key", "a").header("idempotency-key", "b")).await;
    assert_eq!(twice.status, 400);
    for key in ["", "\u{e9}", &"x".repeat(256)] {
        let refused = reply(post(&path).header("idempotency-key", key)).await;
        assert_eq!(refused.status, 400, "{key}: {}", refused.text);
    }
    let body = json!({ "action": "discard", "filter": {} }).to_string();
    let dry = post("/bulks?dry_run=true").header("content-type", "application/json").body(body);
    assert_eq!(reply(dry).await.json()["count"], 1);
    assert_eq!(scene.app.count(REQUESTS).await, 0);
}

#[tokio::test]
async fn of_many_at_once_under_one_key_one_is_carried_out_and_all_others_get_its_answer_or_are_told_to_wait() {
    let scene = Scene::start().await;
    let keeper = scene.app.keeper();
    let (path, none) = (format!("/deliveries/{}/retry", scene.dead), json!({}));
    let replies = join_all((0..20).map(|_| keeper.post(&path, "key-1", &none))).await;
    let firsts = replies.iter().filter(|r| r.status == 200 && r.header("idempotency-replayed").is_none()).count();
    assert_eq!(firsts, 1);
    for other in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!((other.status, other.text_of("type").as_str()), (409, "urn:oncehook:problem:still-running"));
        assert!(other.header("retry-after").is_some());
    }
    assert_eq!(scene.app.count(RETRIES).await, 1);
}

/// `before` or `after` its order the process of the first request dies; another request with the key comes at once, and after a
/// minute.
#[cfg(feature = "failpoints")]
async fn die(point: &str) -> (Scene, crate::support::sender::Reply) {
    let scene = Scene::start().await;
    let keeper = scene.app.keeper();
    let path = format!("/deliveries/{}/retry", scene.dead);
    fail::cfg(point, "1*return(error)->off").unwrap();
    let lost = keeper.post(&path, "key-1", &json!({})).await;
    assert_eq!((lost.status, lost.text_of("type").as_str()), (503, "urn:oncehook:problem:outcome-unknown"));
    let soon = keeper.post(&path, "key-1", &json!({})).await;
    assert_eq!((soon.status, soon.text_of("type").as_str()), (409, "urn:oncehook:problem:still-running"));
    scene.app.advance(TimeDelta::seconds(61)).await;
    let taken_over = keeper.post(&path, "key-1", &json!({})).await;
    let again = keeper.post(&path, "key-1", &json!({})).await;
    assert_eq!((again.status, &again.text), (taken_over.status, &taken_over.text));
    assert_eq!(scene.app.count(RETRIES).await, 1, "once, whichever of them did it");
    (scene, taken_over)
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn an_order_whose_process_died_before_it_is_carried_out_when_it_is_sent_again_after_a_minute() {
    let (_scene, taken_over) = die("before_order").await;
    assert_eq!(taken_over.status, 200, "{}", taken_over.text);
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn an_order_whose_process_died_after_it_is_found_done_when_it_is_sent_again_and_not_done_twice() {
    let (_scene, taken_over) = die("after_order").await;
    assert_eq!((taken_over.status, taken_over.text_of("type").as_str()), (409, "urn:oncehook:problem:refused"));
}

#[tokio::test]
async fn keys_are_forgotten_after_a_day() {
    let scene = Scene::start().await;
    let keeper = scene.app.keeper();
    keeper.post("/routes/deploy/pause", "key-1", &json!({})).await;
    scene.app.advance(TimeDelta::hours(23)).await;
    keeper.post("/routes/deploy/resume", "key-2", &json!({})).await;
    assert_eq!(scene.app.count(REQUESTS).await, 2);
    scene.app.advance(TimeDelta::hours(2)).await;
    keeper.post("/routes/deploy/pause", "key-3", &json!({})).await;
    assert_eq!(scene.app.count(REQUESTS).await, 2);
}

#[tokio::test]
async fn an_order_is_carried_out_also_if_its_sender_hangs_up() {
    let scene = Scene::start().await;
    let mut wire = crate::support::connection::Connection::to(scene.app.app().admin_address()).await;
    let head = format!(
        "POST /api/v1/deliveries/{}/retry HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nidempotency-key: key-1\r\n\
         content-length: 0\r\n\r\n",
        scene.dead,
        crate::support::visitor::KEEPER
    );
    wire.send(head).await;
    drop(wire);
    let path = format!("/deliveries/{}/retry", scene.dead);
    crate::support::until::until("the order has its answer", async || {
        let query = "select count(*) from oncehook.operator_requests where status = 200";
        // It may be that the connection was closed before the request was read: then nothing was begun, and nothing is lost.
        scene.app.count(query).await == 1 || scene.app.keeper().post(&path, "key-1", &json!({})).await.status == 200
    })
    .await;
    assert_eq!(scene.app.count(RETRIES).await, 1);
    let _ = text(&json!(""));
}
