//! The same signed bytes under another delivery id: GitHub does not sign the id (pitfall B053).

use crate::support::{app::TestApp, sender::Reply};

const BODY: &str = r#"{"ref":"refs/heads/main","repository":{"id":7}}"#;

async fn send(app: &TestApp, id: &str) -> Reply {
    app.sender().github("push", BODY).id(id).send().await
}

async fn suspects(app: &TestApp) -> i64 {
    app.count("select count(*) from oncehook.receipts where replay_of is not null and 'suspected_replay' = any (flags)")
        .await
}

#[tokio::test]
async fn the_same_bytes_under_ten_fresh_ids_are_taken_and_flagged() {
    let app = TestApp::start().await;
    for number in 0..=10 {
        assert_eq!(send(&app, &format!("id-{number}")).await.text_of("status"), "accepted");
    }
    assert_eq!(suspects(&app).await, 10);
    let first = "select count(*) from oncehook.receipts where replay_of is null and delivery_id = 'id-0'";
    assert_eq!(app.count(first).await, 1);
    app.run_until_idle().await;
}

#[tokio::test]
async fn bytes_that_come_at_once_under_fifty_ids_are_flagged_but_for_one_a_batch() {
    let app = TestApp::start().await;
    let mut sent = tokio::task::JoinSet::new();
    for number in 0..50 {
        let letter = app.sender().github("push", BODY).id(&format!("id-{number}"));
        sent.spawn(async move { letter.send().await.status });
    }
    assert!(sent.join_all().await.into_iter().all(|status| status == 200));
    assert_eq!(suspects(&app).await, 49);
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_source_that_rejects_replays_keeps_nothing_of_them_and_names_the_first() {
    let app = TestApp::start_from(&TestApp::config_with("[sources.github]", "replay_guard = \"reject\"")).await;
    let first = send(&app, "id-0").await;
    let again = send(&app, "id-1").await;
    assert_eq!((again.status, again.text_of("status").as_str()), (409, "suspected_replay"));
    assert_eq!(again.text_of("receipt"), first.text_of("receipt"));
    let kept = "select (select count(*) from oncehook.receipts) + (select count(*) from oncehook.payloads)
        + (select count(*) from oncehook.deliveries) + (select count(*) from oncehook.lanes)";
    assert_eq!(app.count(kept).await, 4, "one of each");
    // The event itself is still a duplicate.
    assert_eq!(send(&app, "id-0").await.text_of("status"), "duplicate");
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_source_that_does_not_look_flags_nothing() {
    let app = TestApp::start_from(&TestApp::config_with("[sources.github]", "replay_guard = \"off\"")).await;
    send(&app, "id-0").await;
    send(&app, "id-1").await;
    assert_eq!(suspects(&app).await, 0);
    app.run_until_idle().await;
}
