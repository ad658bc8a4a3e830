//! Commands of a team's own producers: one key is one command, whoever asks again is answered the same.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{
    app::{DEPOT_TOKEN, SHOP_TOKEN, SHOP_TOKEN_OLD, TestApp},
    connection::Connection,
    destination::{Reply, TestDestination},
    log::Log,
    until::until,
};

const PLACE: &str = r#"{"type":"order.place","n":1}"#;

/// Two api sources; `orders` goes to `desk`.
async fn start(desk: &TestDestination) -> TestApp {
    let url = desk.url();
    TestApp::start_with(&format!(
        r#"
[sources.orders]
provider = "api"
callers.shop = {{ secrets = [{{ env = "SHOP_TOKEN" }}, {{ env = "SHOP_TOKEN_OLD" }}] }}
callers.depot = {{ secrets = [{{ env = "DEPOT_TOKEN" }}] }}
[sources.returns]
provider = "api"
secrets = [{{ env = "SHOP_TOKEN" }}]
[destinations.desk]
kind = "http"
url = "{url}"
[[routes]]
name = "place"
source = "orders"
events = ["order"]
destination = "desk"
"#
    ))
    .await
}

async fn desk(status: u16, body: &[u8]) -> TestDestination {
    TestDestination::start([Reply::Answer(status, Vec::new(), body.to_vec())]).await
}

#[tokio::test]
async fn the_replayed_answer_means_the_same_as_the_first_also_after_the_state_moved_on() {
    let desk = desk(200, br#"{"order": 12345678901234567890}"#).await;
    let app = start(&desk).await;
    let command = app.command(SHOP_TOKEN, "key-1", PLACE);
    let first = command.send().await.presentable();
    assert_eq!(first.status, 202, "{}", first.text);
    assert_eq!(first.location(), format!("/hooks/orders/{}", first.receipt()));
    assert_eq!(first.header("idempotency-replayed"), None);

    let pending = command.send().await.presentable();
    assert_eq!((pending.status, pending.problem().as_str()), (409, "still-pending"));
    assert_eq!((pending.location(), pending.receipt()), (first.location(), first.receipt()));
    assert!(pending.header("retry-after").is_some(), "{pending:?}");

    app.run_until_idle().await;
    for _ in 0..2 {
        let again = command.send().await;
        assert_eq!((again.status, again.location()), (202, first.location()));
        assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
        let mut same = again.json();
        let result = same.as_object_mut().unwrap().remove("result").unwrap();
        assert_eq!(same, first.json(), "the members of the first answer");
        assert_eq!(result["state"], "done");
        assert_eq!(result["deliveries"][0]["answer"]["status"], 200);
        assert!(again.text.contains(r#""body":{"order": 12345678901234567890}"#), "digit for digit: {}", again.text);
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 1);
    assert_eq!(desk.received().len(), 1);
}

#[tokio::test]
async fn a_failed_command_is_replayed_as_failed_and_a_duplicate_never_runs_it_again() {
    let desk = desk(422, b"no such order").await;
    let app = start(&desk).await;
    let command = app.command(SHOP_TOKEN, "key-1", PLACE);
    let first = command.send().await;
    app.run_until_idle().await;
    let again = command.send().await;
    assert_eq!((again.status, again.location()), (202, first.location()));
    let result = &again.json()["result"];
    assert_eq!(result["state"], "failed");
    assert_eq!(result["deliveries"][0]["state"], "dead");
    assert_eq!(result["deliveries"][0]["answer"], json!({ "status": 422, "body": "no such order" }));
    assert_eq!(app.run_until_idle().await, 0);
    assert_eq!(desk.received().len(), 1);
}

#[tokio::test]
async fn a_key_that_comes_back_with_another_payload_is_a_422_and_both_are_kept() {
    let desk = desk(200, b"").await;
    let app = start(&desk).await;
    let command = app.command(SHOP_TOKEN, "key-1", PLACE);
    let first = command.send().await;
    let others = [
        command.clone().body(r#"{"type":"order.place","n":2}"#),
        command.clone().header("oncehook-event", "order.cancel"),
        command.clone().header("oncehook-ordering-key", "order/1"),
    ];
    for other in &others {
        let reply = other.send().await.presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (422, "key-reused"), "{}", reply.text);
        assert_eq!(reply.receipt(), first.receipt());
    }
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 3);
    assert_eq!(app.run_until_idle().await, 1, "only the first runs");
}

#[tokio::test]
async fn fifty_posts_of_one_key_at_once_make_one_receipt_and_one_first_answer() {
    let desk = desk(200, b"{}").await;
    let app = start(&desk).await;
    let command = app.command(SHOP_TOKEN, "key-1", PLACE);
    let replies = join_all((0..50).map(|_| command.send())).await;
    let firsts = replies.iter().filter(|r| r.status == 202 && r.header("idempotency-replayed").is_none()).count();
    assert_eq!(firsts, 1);
    assert_eq!(replies.iter().filter(|reply| reply.status == 409).count(), 49, "nothing ran meanwhile");
    assert!(replies.iter().all(|reply| reply.location() == replies[0].location()));
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 1);
    app.run_until_idle().await;
    let replies = join_all((0..50).map(|_| command.send())).await;
    assert!(replies.iter().all(|r| r.status == 202 && r.header("idempotency-replayed").is_some()));
    assert_eq!(desk.received().len(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_its_source() {
    let desk = desk(200, b"{}").await;
    let app = start(&desk).await;
    let commands = [
        app.command(SHOP_TOKEN, "key-1", PLACE),
        app.command(DEPOT_TOKEN, "key-1", PLACE),
        app.command(SHOP_TOKEN, "key-1", PLACE).source("returns"),
    ];
    for command in &commands {
        assert_eq!(command.send().await.status, 202);
    }
    // Another secret of the same caller, or its signature, is the same caller.
    assert_eq!(app.command(SHOP_TOKEN_OLD, "key-1", PLACE).send().await.status, 409);
    assert_eq!(app.signed_command(SHOP_TOKEN, "key-1", PLACE).send().await.status, 409);
    let scopes = "select count(*) from oncehook.receipts where (source, hook_scope) in
                  (('orders', 'shop'), ('orders', 'depot'), ('returns', 'default'))";
    assert_eq!(app.count(scopes).await, 3);
    app.run_until_idle().await;
}

#[tokio::test]
async fn an_answer_that_was_lost_after_the_commit_is_given_again() {
    let desk = desk(200, b"{}").await;
    let app = start(&desk).await;
    let command = app.command(SHOP_TOKEN, "key-1", PLACE);
    let mut wire = Connection::to(app.sender().address()).await;
    wire.send(command.wire()).await;
    until("the commit", async || app.count("select count(*) from oncehook.receipts").await == 1).await;
    drop(wire);
    assert_eq!(command.send().await.status, 409, "it is known, and where to look is said");
    app.run_until_idle().await;
    let again = command.send().await;
    assert_eq!((again.status, again.text_of("status").as_str()), (202, "accepted"));
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 1);
}

#[tokio::test]
async fn a_caller_looks_at_its_own_commands_and_at_nobody_elses() {
    let desk = desk(200, b"placed").await;
    let app = start(&desk).await;
    let first = app.command(SHOP_TOKEN, "key-1", PLACE).send().await;
    let path = first.location();
    let pending = app.look_with(&path, SHOP_TOKEN).await.presentable();
    assert_eq!((pending.status, pending.text_of("status").as_str()), (200, "pending"));
    assert!(pending.header("retry-after").is_some());
    app.run_until_idle().await;
    let done = app.look_with(&path, SHOP_TOKEN_OLD).await;
    let delivery = json!({ "route": "place", "state": "succeeded", "attempts": 1,
                           "answer": { "status": 200, "body": "placed" } });
    assert_eq!(done.json(), json!({ "status": "done", "receipt": first.receipt(), "deliveries": [delivery] }));
    assert_eq!(done.header("retry-after"), None);
    assert_eq!(app.counted("orders", "looked").await, 2);

    let signed = |id: &str| app.signed_command(SHOP_TOKEN, id, "").lines();
    assert_eq!(app.look(&path, &signed(&first.receipt())).await.status, 200);
    let other = app.look(&path, &signed("rcp_01ke6vafet00000000000000r1")).await.presentable();
    assert_eq!((other.status, other.problem().as_str()), (401, "other-receipt"));

    let foreign = app.look_with(&path, DEPOT_TOKEN).await.presentable();
    let unknown = app.look_with("/hooks/orders/rcp_01ke6vafet00000000000000r1", DEPOT_TOKEN).await;
    let elsewhere = app.look_with(&path.replace("orders", "returns"), SHOP_TOKEN).await;
    let no_id = app.look_with("/hooks/orders/x", DEPOT_TOKEN).await;
    for reply in [&foreign, &unknown, &elsewhere, &no_id] {
        assert_eq!((reply.status, &reply.text), (404, &foreign.text));
    }
    assert_eq!(app.look(&path, &[]).await.status, 401);
    assert_eq!(app.look_with(&path.replace("orders", "github"), SHOP_TOKEN).await.problem(), "no-such-path");
    for source in ["github", "orders"] {
        assert_eq!(app.look_with(&format!("/hooks/{source}"), SHOP_TOKEN).await.status, 405);
    }
}

#[tokio::test]
async fn who_is_not_known_is_refused_alike_and_before_the_body_is_read() {
    let desk = desk(200, b"").await;
    let app = start(&desk).await;
    let mut texts = Vec::new();
    for token in ["nobody-0123456789-abcdef", &DEPOT_TOKEN.to_uppercase(), &SHOP_TOKEN[1..]] {
        let reply = app.command(token, "key-1", PLACE).send().await.presentable();
        assert_eq!((reply.status, reply.header("www-authenticate").as_deref()), (401, Some("Bearer")));
        texts.push(reply.text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    let foreign = app.command(DEPOT_TOKEN, "key-1", PLACE).source("returns").send().await;
    assert_eq!((foreign.status, &foreign.text), (401, &texts[0]), "the caller of another source is nobody here");

    let head = app.command("nobody-0123456789-abcdef", "key-1", "").wire_head("content-length: 1000");
    let mut wire = Connection::to(app.sender().address()).await;
    wire.send(head).await;
    assert_eq!(wire.answer().await.unwrap().status, 401, "without a byte of the body");

    let forged = app.signed_command(SHOP_TOKEN, "key-1", PLACE).signed_over("{}").send().await.presentable();
    assert_eq!((forged.status, forged.problem().as_str()), (401, "signature-mismatch"));
    let swapped = app.signed_command(SHOP_TOKEN, "key-1", PLACE).header("idempotency-key", "key-2").send().await;
    assert_eq!((swapped.presentable().status), 401);
    let no_key = app.sender().standard(PLACE).source("orders").unsigned();
    let no_key = no_key.header("authorization", format!("Bearer {SHOP_TOKEN}")).send().await.presentable();
    assert_eq!((no_key.status, no_key.problem().as_str()), (400, "malformed"));
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 0);
}

#[tokio::test]
async fn no_secret_of_a_caller_comes_out_anywhere() {
    let log = Log::capture();
    let desk = desk(200, b"{}").await;
    let app = start(&desk).await;
    let bare = SHOP_TOKEN.trim_start_matches("whsec_");
    let leaky = app.command(SHOP_TOKEN, "key-1", PLACE).header("x-leak", format!("a={bare};"));
    let first = leaky.send().await;
    let stored = String::from_utf8(app.stored_headers(&first.receipt()).await).unwrap();
    assert_eq!(stored.matches("[redacted by oncehook]").count(), 2, "{stored}");
    let wrong = app.command("nobody-0123456789-abcdef", "key-1", PLACE).send().await;
    app.run_until_idle().await;
    let again = leaky.send().await;
    let looked = app.look_with(&first.location(), SHOP_TOKEN).await;
    let receipts = "select json_agg(r)::text from oncehook.receipts r where source = 'orders'";
    let receipts: String = sqlx::query_scalar(receipts).fetch_one(&mut app.database().await).await.unwrap();
    assert!(receipts.contains("key-1") && log.text().contains("TRACE"));
    let outputs = [stored, wrong.text, again.text, looked.text, receipts, app.metrics().await, log.text()];
    for canary in [bare, SHOP_TOKEN_OLD, DEPOT_TOKEN, "nobody-0123456789"] {
        assert!(!outputs.iter().any(|output| output.contains(canary)), "{canary}");
    }
}
