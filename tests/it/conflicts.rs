//! Promise P4: the same id with another payload is never lost and never run.

use serde_json::json;

use crate::support::{
    app::TestApp,
    invariants::assert_lane_invariants,
    recorders::{RecordBench, event, word},
};

#[tokio::test]
async fn another_payload_under_a_known_id_is_kept_whole_and_never_run() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main").id("guid-1");
    let first = letter.send().await;
    let other = letter.clone().body(r#"{"ref":"refs/heads/evil","repository":{"id":2}}"#).header("x-extra", "kept");
    let reply = other.send().await;
    assert_eq!((reply.status, &*reply.text_of("status")), (409, "conflict"));
    assert_eq!(reply.text_of("receipt"), first.text_of("receipt"));
    let (body, headers): (Vec<u8>, Vec<u8>) = sqlx::query_as("select body, headers from oncehook.conflicts")
        .fetch_one(&mut app.database().await)
        .await
        .unwrap();
    assert_eq!(body, br#"{"ref":"refs/heads/evil","repository":{"id":2}}"#);
    assert!(String::from_utf8_lossy(&headers).contains("x-extra: kept"));
    assert_eq!(app.count("select count(*) from oncehook.lanes").await, 1, "it opened no lane");
    assert_eq!(app.run_until_idle().await, 1);
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
    let payload: Vec<u8> =
        sqlx::query_scalar("select body from oncehook.payloads").fetch_one(&mut app.database().await).await.unwrap();
    assert!(String::from_utf8_lossy(&payload).contains("heads/main"), "the first stays");
}

#[tokio::test]
async fn a_conflict_of_stripe_is_answered_200_since_it_would_be_sent_for_days() {
    let app = TestApp::start().await;
    let body = |amount: i32| json!({ "id": "evt_1", "type": "invoice.paid", "data": { "object": { "id": "in_1" } }, "amount": amount });
    assert_eq!(app.sender().stripe(&body(1)).send().await.text_of("status"), "accepted");
    let reply = app.sender().stripe(&body(2)).send().await;
    assert_eq!((reply.status, &*reply.text_of("status")), (200, "conflict"));
    app.run_until_idle().await;
}

/// B055: an event of a connected account is not the platform's, although both have one id.
#[tokio::test]
async fn one_stripe_id_with_and_without_an_account_is_a_conflict_and_accounts_have_lanes_of_their_own() {
    let app = TestApp::start().await;
    let body = |id: &str, account: Option<&str>| {
        let mut body = json!({ "id": id, "type": "customer.updated", "data": { "object": { "id": "cus_1" } } });
        if let Some(account) = account {
            body["account"] = account.into();
        }
        body
    };
    assert_eq!(app.sender().stripe(&body("evt_1", Some("acct_1"))).send().await.text_of("status"), "accepted");
    assert_eq!(app.sender().stripe(&body("evt_1", None)).send().await.text_of("status"), "conflict");
    assert_eq!(app.sender().stripe(&body("evt_2", Some("acct_2"))).send().await.text_of("status"), "accepted");
    assert_eq!(app.sender().stripe(&body("evt_3", None)).send().await.text_of("status"), "accepted");
    assert_eq!(app.count("select count(distinct ordering_key) from oncehook.receipts").await, 3);
    assert_eq!(app.count("select count(*) from oncehook.receipts where 'account: acct_1' = any (flags)").await, 1);
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_conflict_is_kept_once_per_payload_and_noted_each_time() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main").id("guid-1");
    letter.send().await;
    for body in ["{}", "[]", "{}", "[]", "{}"] {
        assert_eq!(letter.clone().body(body).send().await.text_of("status"), "conflict");
    }
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 2);
    assert_eq!(app.count("select count(*) from oncehook.arrivals where kind = 'conflict'").await, 5);
    // The first payload again is a duplicate still.
    assert_eq!(letter.send().await.text_of("status"), "duplicate");
    app.run_until_idle().await;
}

/// Its delivery would have been in another lane: none is opened for it.
#[tokio::test]
async fn a_conflict_in_the_batch_of_its_first_is_kept_and_opens_no_lane() {
    let bench = RecordBench::new().await;
    let batch = vec![
        event("evt_1", Some("one"), "first"),
        event("evt_1", Some("two"), "other"),
        event("evt_1", None, "third"),
        event("evt_1", Some("one"), "first"),
        event("evt_2", Some("three"), "first"),
        event("evt_1", Some("two"), "other"),
    ];
    let results = bench.record_together(batch).await;
    let words: Vec<_> = results.iter().map(word).collect();
    assert_eq!(words, ["accepted", "conflict", "conflict", "duplicate", "accepted", "conflict"]);
    assert_eq!(bench.count("select count(distinct xmin::text) from oncehook.receipts").await, 1, "it was one batch");
    assert_eq!(bench.count("select count(*) from oncehook.conflicts where body in ('other', 'third')").await, 2);
    assert_eq!(bench.count("select count(*) from oncehook.payloads where body = 'first'").await, 2);
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 2);
    assert_lane_invariants(&mut bench.connect().await).await;
}
