//! The command line against an appliance elsewhere, played by a server with a script: what is sent, and what becomes of each answer.

use serde_json::json;

use crate::support::{
    destination::{Reply, TestDestination},
    terminal::Terminal,
};

const DELIVERY: &str = "dlv_01ke6vafet00000000000000d1";

fn answer(status: u16, body: &serde_json::Value) -> Reply {
    Reply::Answer(status, vec![("content-type", "application/json".to_owned())], body.to_string().into_bytes())
}

fn problem(status: u16, slug: &str, detail: &str) -> Reply {
    let kind = format!("urn:oncehook:problem:{slug}");
    answer(status, &json!({ "type": kind, "title": "Title", "status": status, "detail": detail }))
}

fn retried() -> Reply {
    answer(200, &json!({ "what": DELIVERY, "state": "queued", "done": "it runs when its turn comes" }))
}

async fn elsewhere(script: impl IntoIterator<Item = Reply>) -> (TestDestination, Terminal) {
    let server = TestDestination::start(script).await;
    let terminal = Terminal::elsewhere(&format!("http://{}", server.address()));
    (server, terminal)
}

#[tokio::test]
async fn an_order_whose_answer_was_lost_is_sent_again_under_the_same_key() {
    let running = problem(409, "still-running", "the first is still being carried out");
    let script = [Reply::Reset, problem(503, "database-away", "away"), running, retried(), retried()];
    let (server, terminal) = elsewhere(script).await;
    let terminal = terminal.with("ONCEHOOK_TOKEN", "canary-token");
    for _ in 0..2 {
        let said = terminal.stdout(&format!("deliveries retry {DELIVERY} --reason fixed")).await;
        assert_eq!(said, "it runs when its turn comes\n");
    }
    let received = server.received();
    let keys: Vec<_> = received.iter().map(|request| request.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 5);
    assert!(keys[..4].iter().all(|key| *key == keys[0]) && keys[4] != keys[0], "{keys:?}");
    for request in &received {
        assert_eq!(request.request_line, format!("POST /api/v1/deliveries/{DELIVERY}/retry HTTP/1.1"));
        assert_eq!(request.header("authorization"), Some("Bearer canary-token"));
        assert_eq!(request.body, br#"{"reason":"fixed"}"#);
    }
}

#[tokio::test]
async fn an_order_that_is_never_answered_says_that_nobody_knows() {
    let (server, terminal) = elsewhere(std::iter::repeat_n(Reply::Reset, 9)).await;
    let (code, complaint) = terminal.complaint(&format!("deliveries retry {DELIVERY}")).await;
    assert!(code == 1 && complaint.contains("whether the order was carried out is not known"), "{complaint}");
    assert_eq!(server.received().len(), 4, "it ends");
}

#[tokio::test]
async fn each_refusal_has_its_exit_code_and_is_told_safely() {
    let hostile = "not so\u{1b}[2J";
    for (status, code) in [(400, 2), (401, 5), (403, 5), (404, 4), (409, 1), (429, 1), (500, 1)] {
        let (server, terminal) = elsewhere([problem(status, "refused", hostile)]).await;
        let terminal = terminal.with("ONCEHOOK_TOKEN", "canary-token");
        let output = terminal.run(&format!("deliveries cancel {DELIVERY} --log trace")).await;
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{status}: {said}");
        assert!(said.contains(r"not so\u{1b}[2J") && !said.contains('\u{1b}'), "{said}");
        assert!(!said.contains("canary-token"), "{said}");
        assert_eq!(server.received().len(), 1, "{status} is final");
    }
}

#[tokio::test]
async fn the_token_comes_from_a_file_too_and_a_missing_one_is_told() {
    let (server, terminal) = elsewhere([answer(200, &json!({ "items": [], "next": null }))]).await;
    terminal.write("token", "  from-a-file\n");
    assert_eq!(terminal.stdout("pauses --token-file token").await, "nothing is paused\n");
    assert_eq!(server.received()[0].header("authorization"), Some("Bearer from-a-file"));
    let (code, complaint) = terminal.complaint("pauses --token-file nowhere").await;
    assert!(code == 1 && complaint.contains("--token-file nowhere"), "{complaint}");
    let (code, _) = terminal.complaint("pauses --token-file token --token x").await;
    assert_eq!(code, 2);
}

#[tokio::test]
async fn a_list_longer_than_a_page_is_asked_for_page_by_page() {
    let page = |next: Option<&str>| {
        let line =
            json!({ "kind": "route", "name": "r", "since": "2026-01-05T10:00:00Z", "by": "ada", "reason": null });
        let audit = json!({ "entry": 1, "at": line["since"], "operator": "ada", "via": "api", "action": "retry",
                            "subject": "x", "reason": null, "details": {}, "of a newer version": true });
        answer(200, &json!({ "items": vec![audit; 500], "next": next }))
    };
    let (server, terminal) = elsewhere([page(Some("c/1")), page(Some("c2"))]).await;
    let output = terminal.run("audit --limit 1000 --action retry --json").await;
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 1_000);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "note: there are more: --cursor c2\n");
    let lines: Vec<_> = server.received().iter().map(|request| request.request_line.clone()).collect();
    assert_eq!(
        lines,
        [
            "GET /api/v1/audit?action=retry&limit=500 HTTP/1.1",
            "GET /api/v1/audit?action=retry&cursor=c%2F1&limit=500 HTTP/1.1"
        ]
    );
}

#[tokio::test]
async fn an_answer_that_is_not_understood_tells_which_versions_talk() {
    let openapi = || answer(200, &json!({ "openapi": "3.1.0", "info": { "title": "Oncehook", "version": "9.9.9" } }));
    for first in [answer(200, &json!({ "items": [{ "kind": "planet" }] })), problem(404, "no-such-path", "nothing")] {
        let (server, terminal) = elsewhere([first, openapi()]).await;
        let (code, complaint) = terminal.complaint("pauses").await;
        assert!(code == 1 && complaint.contains("It runs Oncehook 9.9.9"), "{complaint}");
        assert!(server.received()[1].request_line.starts_with("GET /api/v1/openapi.json "));
    }
    let html = Reply::Answer(200, vec![], b"<html>\x1b[2J".to_vec());
    let (_server, terminal) = elsewhere([html, Reply::Status(404)]).await;
    let (code, complaint) = terminal.complaint("pauses").await;
    assert!(code == 1 && complaint.contains("operator's port (8081"), "{complaint}");
}

#[tokio::test]
async fn redirects_are_not_followed_and_take_no_token_elsewhere() {
    let other = TestDestination::start([]).await;
    let to = vec![("location", other.url().to_string())];
    let (_server, terminal) = elsewhere([Reply::Answer(302, to, vec![])]).await;
    let (code, complaint) = terminal.with("ONCEHOOK_TOKEN", "canary").complaint("pauses").await;
    assert!(code == 1 && complaint.contains("redirects are not followed"), "{complaint}");
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn what_works_on_this_machine_only_refuses_an_address() {
    let terminal = Terminal::elsewhere("http://127.0.0.1:1");
    for line in ["migrate", "check", "serve", "database url", "send --list"] {
        let (code, complaint) = terminal.complaint(&format!("{line} --url http://127.0.0.1:2")).await;
        assert!(code == 2 && complaint.contains("leave out --url"), "{line}: {complaint}");
    }
    let listed = terminal.stdout("send --list").await;
    assert!(listed.contains("github push"), "the variable alone is for other commands");
    let (code, complaint) = terminal.complaint("pauses").await;
    assert!(code == 1 && complaint.contains("no answer from 127.0.0.1:1"), "{complaint}");
}

#[tokio::test]
async fn a_bulk_elsewhere_is_counted_begun_and_watched_to_its_end() {
    let progress = |state: &str, met: u32| {
        answer(
            200,
            &json!({ "bulk": "b1", "action": "discard", "state": state, "total": 1_000, "met": met, "changed": met,
                     "by": "ada", "reason": null, "began_at": "2026-01-05T10:00:00Z", "ended_at": null }),
        )
    };
    let count = answer(200, &json!({ "count": 1_000, "samples": [DELIVERY] }));
    let (server, terminal) =
        elsewhere([count.clone(), count, progress("running", 0), progress("running", 500), progress("done", 1_000)])
            .await;
    let (code, complaint) = terminal.complaint("dead-letters discard --route deploy").await;
    assert!(code == 2 && complaint.contains("discard 1000 dead letters") && complaint.contains("--yes"), "{complaint}");
    let output = terminal.run("dead-letters discard --route deploy --yes").await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "bulk b1 is done: discarded 1000 of 1000\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no progress where there is no terminal");
    let received = server.received();
    let begun: serde_json::Value = serde_json::from_slice(&received[2].body).unwrap();
    assert_eq!(
        (&begun["expect"], &begun["filter"]["state"], &begun["filter"]["route"]),
        (&1_000.into(), &"dead".into(), &"deploy".into())
    );
    assert!(received[1].request_line.starts_with("POST /api/v1/bulks?dry_run=true "));
}
