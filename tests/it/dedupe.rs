//! Promise P3: one receipt per event, however often, wherever and through whichever hook it comes.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{
    app::TestApp,
    recorders::{RecordBench, event, word},
    sender::Sender,
};

const RECEIPTS: &str = "select count(*) from oncehook.receipts";

#[tokio::test]
async fn a_redelivered_event_is_recorded_once() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let first = letter.send().await;
    let stored: (chrono::DateTime<chrono::Utc>,) =
        sqlx::query_as("select received_at from oncehook.receipts").fetch_one(&mut app.database().await).await.unwrap();
    for _ in 0..3 {
        let again = letter.send().await;
        assert_eq!((again.status, &*again.text_of("status")), (200, "duplicate"));
        assert_eq!(again.text_of("receipt"), first.text_of("receipt"));
        let first_received_at: chrono::DateTime<chrono::Utc> = again.text_of("first_received_at").parse().unwrap();
        assert_eq!(first_received_at, stored.0);
    }
    assert_eq!(app.count(RECEIPTS).await, 1);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}

/// B043: whoever presses "Redeliver" sees that it came, and what became of the first.
#[tokio::test]
async fn a_redelivery_is_visible_as_an_arrival_and_starts_nothing() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    letter.send().await;
    let deliveries = |state: &str| json!([{ "route": "github-demo", "state": state }]);
    assert_eq!(letter.send().await.json()["deliveries"], deliveries("queued"));
    app.run_until_idle().await;
    app.advance(TimeDelta::hours(1)).await;
    assert_eq!(letter.send().await.json()["deliveries"], deliveries("succeeded"));
    assert_eq!(app.run_until_idle().await, 0, "what succeeded is not run again");
    let arrivals: Vec<(String, bool)> = sqlx::query_as(
        "select a.kind, a.arrived_at > r.received_at + interval '59 min'
         from oncehook.arrivals a join oncehook.receipts r on r.id = a.receipt_id order by a.id",
    )
    .fetch_all(&mut app.database().await)
    .await
    .unwrap();
    assert_eq!(arrivals, [("duplicate".to_owned(), false), ("duplicate".to_owned(), true)]);
    assert_eq!(app.count("select count(*) from oncehook.attempts").await, 1);
}

#[tokio::test]
async fn a_duplicate_of_a_running_delivery_says_so_and_changes_nothing() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    letter.send().await;
    let mut conn = app.database().await;
    // As a worker of another process holds it.
    let run = "update oncehook.deliveries set state = 'running', leased_by = 'elsewhere', attempts = 1,
        lease_expires_at = oncehook.now() + interval '1 s'";
    sqlx::query(run).execute(&mut conn).await.unwrap();
    let row = "select md5(d::text) from oncehook.deliveries d";
    let before: String = sqlx::query_scalar(row).fetch_one(&mut conn).await.unwrap();
    assert_eq!(letter.send().await.json()["deliveries"][0]["state"], "running");
    assert_eq!(sqlx::query_scalar::<_, String>(row).fetch_one(&mut conn).await.unwrap(), before);
    assert_eq!(app.count("select count(*) from apalis.jobs").await, 1, "no second job");
    sqlx::query(
        "update oncehook.deliveries set state = 'queued', leased_by = null, lease_expires_at = null, attempts = 0",
    )
    .execute(&mut conn)
    .await
    .unwrap();
    app.run_until_idle().await;
}

/// B042: GitHub gives one id to all hooks that see an event, and other fields to some. DESIGN.md 3.2: never a conflict.
#[tokio::test]
async fn the_same_github_event_through_two_hooks_is_one_event() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let body = |with: Value| json!({ "ref": "refs/heads/main", "repository": { "id": 1 }, "installation": with });
    let one = sender.github("push", body(Value::Null).to_string()).id("guid-1").header("x-github-hook-id", "1");
    let other =
        sender.github("push", body(json!({ "id": 7 })).to_string()).id("guid-1").header("x-github-hook-id", "2");
    assert_eq!(one.send().await.text_of("status"), "accepted");
    for letter in [&other, &one, &other] {
        let reply = letter.send().await;
        assert_eq!((reply.status, &*reply.text_of("status")), (200, "duplicate"));
    }
    // The same hook with another payload is what it looks like.
    let changed = one.clone().body(body(json!({ "id": 8 })).to_string());
    assert_eq!(changed.send().await.text_of("status"), "conflict");
    assert_eq!(app.count(RECEIPTS).await, 1);
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 1);
    let hooks = "select count(distinct hook_id) from oncehook.arrivals";
    assert_eq!(app.count(hooks).await, 2, "each arrival says through which hook it came");
    app.run_until_idle().await;
}

/// B042, the other rule.
#[tokio::test]
async fn hooks_are_kept_apart_where_the_source_says_so() {
    let app = TestApp::start_from(PER_HOOK).await;
    let sender = app.sender();
    let letter = sender.push("main").id("guid-1");
    for hook in ["1", "2"] {
        let through = letter.clone().header("x-github-hook-id", hook);
        assert_eq!(through.send().await.text_of("status"), "accepted");
        assert_eq!(through.send().await.text_of("status"), "duplicate");
    }
    assert_eq!(app.count("select count(distinct hook_scope) from oncehook.receipts").await, 2);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
}

const PER_HOOK: &str = r#"
[intake]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[sources.github]
provider = "github"
dedupe = "per_hook"
secrets = [{ env = "GITHUB_SECRET" }]
[destinations.demo]
kind = "log"
[[routes]]
name = "github-demo"
source = "github"
events = ["*"]
destination = "demo"
"#;

/// B044: a start that fails is no start, and the redelivery is not taken for a duplicate.
#[tokio::test]
async fn an_event_whose_job_cannot_be_enqueued_leaves_no_receipt_behind() {
    let app = TestApp::start().await;
    let mut conn = app.database().await;
    let refuse = "create function refuse() returns trigger language plpgsql as $$ begin raise 'no jobs today'; end $$;
        create trigger refuse before insert on apalis.jobs for each row execute function refuse()";
    sqlx::raw_sql(refuse).execute(&mut conn).await.unwrap();
    let letter = app.sender().push("main");
    assert_eq!(letter.send().await.status, 503);
    assert_eq!(app.count(RECEIPTS).await, 0);
    sqlx::raw_sql("drop trigger refuse on apalis.jobs").execute(&mut conn).await.unwrap();
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    assert_eq!(app.count("select count(*) from apalis.jobs").await, 1);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}

/// B048, B050: the identity is the source and the provider's id; not the node, nor the time, nor what was in memory.
#[tokio::test]
async fn an_event_is_known_again_by_another_node_after_a_restart_and_months_later() {
    let mut app = TestApp::start().await;
    let letter = app.sender().push("main").id("guid-1");
    let receipt = letter.send().await.text_of("receipt");
    app.run_until_idle().await;
    app.stop().await;
    app.advance(TimeDelta::days(89)).await;
    for _ in 0..2 {
        let node = app.another().await;
        let sender = Sender::to(node.intake_address().unwrap(), app.clock().clone());
        let again = sender.push("main").id("guid-1").send().await;
        assert_eq!((&*again.text_of("status"), again.text_of("receipt")), ("duplicate", receipt.clone()));
        node.stop().await.unwrap();
    }
    assert_eq!(app.count(RECEIPTS).await, 1);
}

#[tokio::test]
async fn one_id_at_two_sources_is_two_events() {
    let app = TestApp::start().await;
    let sender = app.sender();
    assert_eq!(sender.push("main").id("id-1").send().await.text_of("status"), "accepted");
    assert_eq!(sender.standard("{}").id("id-1").send().await.text_of("status"), "accepted");
    app.run_until_idle().await;
}

/// B051: what has no id is refused where the provider always sends one, and known by its bytes where it does not.
#[tokio::test]
async fn an_event_without_an_id_is_refused_or_known_by_its_bytes() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let reply = sender.push("main").header("x-github-delivery", "").send().await;
    assert_eq!(reply.status, 400, "{}", reply.text);
    assert_eq!(app.count(RECEIPTS).await, 0);
    let without_id = json!({ "type": "invoice.paid", "data": { "object": { "id": "in_1" } } });
    assert_eq!(sender.stripe(&without_id).send().await.text_of("status"), "accepted");
    let again = sender.stripe(&without_id).send().await;
    assert_eq!(again.text_of("status"), "duplicate", "and it says so");
    assert_eq!(app.count("select count(*) from oncehook.receipts where delivery_id like 'sha256:%'").await, 1);
    app.run_until_idle().await;
}

/// B053: GitHub's id is not signed. For now both run; the guard against it comes with `replay_guard`.
#[tokio::test]
async fn one_signed_body_under_two_ids_is_two_events() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    for id in ["guid-1", "guid-2"] {
        assert_eq!(letter.clone().id(id).send().await.text_of("status"), "accepted");
    }
    assert_eq!(app.count("select count(distinct body_digest) from oncehook.receipts").await, 1);
    app.run_until_idle().await;
}

/// B058: the counter is no part of the event.
#[tokio::test]
async fn a_stripe_event_whose_live_counter_changed_is_a_duplicate_and_the_first_bytes_stay() {
    let app = TestApp::start().await;
    let body = |pending: i32| {
        json!({ "id": "evt_1", "type": "invoice.paid", "pending_webhooks": pending, "created": 1_700_000_000,
                "data": { "object": { "id": "in_1" } } })
    };
    assert_eq!(app.sender().stripe(&body(2)).send().await.text_of("status"), "accepted");
    assert_eq!(app.sender().stripe(&body(1)).send().await.text_of("status"), "duplicate");
    let kept: Vec<u8> =
        sqlx::query_scalar("select body from oncehook.payloads").fetch_one(&mut app.database().await).await.unwrap();
    assert_eq!(kept, body(2).to_string().into_bytes());
    let differs = "select count(*) from oncehook.arrivals a join oncehook.receipts r on r.id = a.receipt_id
        where a.body_digest <> r.body_digest";
    assert_eq!(app.count(differs).await, 1, "that its bytes differ can be seen");
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 0);
    app.run_until_idle().await;
}

#[tokio::test]
async fn arrivals_beyond_the_limit_are_counted_and_none_is_lost() {
    const COUNTED: &str = "select count(*) * 1000 + coalesce(sum(repeats), 0)::bigint from oncehook.arrivals";
    let duplicates = |count| (0..count).map(|_| event("evt_1", Some("a"), "{}")).collect();
    // All in the first batch, or spread over batches: the limit lies inside, at the end and before.
    for batches in [vec![31], vec![1, 30], vec![11, 5, 5, 10], vec![5, 1, 5, 20], vec![2; 16]] {
        let bench = RecordBench::with(|record| record.arrivals_kept = 10).await;
        let mut duplicates_sent = -1;
        for count in batches.clone() {
            bench.record_together(duplicates(count)).await;
            duplicates_sent += i64::from(count);
        }
        assert_eq!(bench.count(COUNTED).await, 10_000 + duplicates_sent - 10, "{batches:?}");
        let last =
            "select count(*) from oncehook.arrivals where repeats > 0 and id < (select max(id) from oncehook.arrivals)";
        assert_eq!(bench.count(last).await, 0, "the last row counts");
    }
}

#[tokio::test]
async fn one_event_twice_in_one_batch_is_one_receipt_and_a_duplicate() {
    let bench = RecordBench::new().await;
    let batch = ["a", "b", "a", "a", "b"].map(|id| event(id, Some("lane"), "{}"));
    let results = bench.record_together(batch.to_vec()).await;
    assert_eq!(
        results.iter().map(word).collect::<Vec<_>>(),
        ["accepted", "accepted", "duplicate", "duplicate", "duplicate"]
    );
    assert_eq!(bench.count("select count(*) from oncehook.deliveries").await, 2);
    assert_eq!(bench.count("select count(*) from oncehook.arrivals").await, 3);
}
