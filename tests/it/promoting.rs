//! Promoting a conflict: its payload becomes a receipt of its own, once, and the first receipt stays as it is.

use std::sync::Arc;

use oncehook::{
    blueprint::Blueprint,
    domain::{DeliveryState, ReceiptId},
    operate::{OperateError, Replayed},
};

use crate::support::{
    app::TestApp,
    desk::{by, operator},
    invariants::assert_lane_invariants,
    sender::Letter,
};

const OTHER: &str = r#"{"ref":"refs/heads/other","repository":{"id":2}}"#;

/// A receipt, and a conflict of it.
async fn with_conflict() -> (TestApp, Letter, i64) {
    let app = TestApp::start().await;
    let letter = app.sender().push("main").id("guid-1");
    letter.clone().send().await;
    assert_eq!(letter.clone().body(OTHER).send().await.text_of("status"), "conflict");
    app.run_until_idle().await;
    let conflict = app.count("select id from oncehook.conflicts").await;
    (app, letter, conflict)
}

async fn promote(app: &TestApp, conflict: i64) -> Result<Replayed, OperateError> {
    let promoted = app.app().desk().promote(conflict, by(&operator())).await;
    assert_lane_invariants(&mut app.database().await).await;
    promoted
}

#[tokio::test]
async fn a_promoted_conflict_is_a_receipt_of_its_own_and_is_delivered() {
    let (app, _, conflict) = with_conflict().await;
    let promoted = promote(&app, conflict).await.unwrap();
    let [delivery] = &promoted.deliveries[..] else { panic!("{promoted:?}") };
    assert_eq!((delivery.route.as_str(), delivery.state), ("github-demo", DeliveryState::Queued));
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);

    let (scope, key, flags, body, secrets): (String, Option<String>, Vec<String>, Vec<u8>, i64) = sqlx::query_as(
        "select r.hook_scope, r.ordering_key, r.flags, p.body,
                (select count(distinct secret_fingerprint) from oncehook.receipts)
         from oncehook.receipts r join oncehook.payloads p on p.receipt_id = r.id where r.id = $1",
    )
    .bind(promoted.receipt.uuid())
    .fetch_one(&mut app.database().await)
    .await
    .unwrap();
    assert_eq!(scope, format!("conflict:{conflict}"));
    assert_eq!(key.as_deref(), Some("ref/2/refs/heads/other"), "what its own payload says");
    assert!(flags[0].starts_with(&format!("promoted: conflict {conflict} of rcp_")), "{flags:?}");
    assert_eq!((body, secrets), (OTHER.into(), 1));
    let noted: (uuid::Uuid, bool) =
        sqlx::query_as("select promoted_to, promoted_at is not null from oncehook.conflicts")
            .fetch_one(&mut app.database().await)
            .await
            .unwrap();
    assert_eq!(noted, (promoted.receipt.uuid(), true));
    assert_eq!(app.count("select count(*) from oncehook.receipts where hook_scope = ''").await, 1, "the first stays");
    assert_eq!(
        app.count("select count(*) from oncehook.audit where action = 'promote' and subject = 'conflict 1'").await,
        1
    );
}

#[tokio::test]
async fn a_conflict_is_promoted_once_and_the_refusal_names_the_receipt() {
    let (app, _, conflict) = with_conflict().await;
    let mut presses = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let desk = app.app().desk().clone();
        presses.spawn(async move { desk.promote(conflict, by(&operator())).await });
    }
    let results = presses.join_all().await;
    let receipts: Vec<ReceiptId> = results.iter().flatten().map(|promoted| promoted.receipt).collect();
    let [receipt] = receipts[..] else { panic!("{results:?}") };
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(
            matches!(refused, OperateError::Refused { .. }) && refused.to_string().contains(&receipt.to_string()),
            "{refused}"
        );
    }
    app.run_until_idle().await;
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2);
    assert_eq!(app.count("select count(*) from oncehook.audit").await, 1);
}

#[tokio::test]
async fn what_comes_under_the_id_later_is_compared_with_the_first_receipt_as_before() {
    let (app, letter, conflict) = with_conflict().await;
    promote(&app, conflict).await.unwrap();
    app.run_until_idle().await;
    assert_eq!(letter.clone().send().await.text_of("status"), "duplicate");
    assert_eq!(letter.body(OTHER).send().await.text_of("status"), "conflict");
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 1, "it is kept once");
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
}

#[tokio::test]
async fn a_conflict_of_stripe_is_promoted_too() {
    let app = TestApp::start().await;
    let body = |amount: i32| serde_json::json!({ "id": "evt_1", "type": "invoice.paid", "data": { "object": { "id": "in_1" } }, "amount": amount });
    app.sender().stripe(&body(1)).send().await;
    app.sender().stripe(&body(2)).send().await;
    promote(&app, app.count("select id from oncehook.conflicts").await).await.unwrap();
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
}

#[tokio::test]
async fn what_is_not_there_or_has_no_source_any_more_is_not_promoted() {
    let (app, _, conflict) = with_conflict().await;
    let missing = promote(&app, conflict + 1).await;
    assert!(matches!(missing, Err(OperateError::NotFound { what: "conflict", .. })), "{missing:?}");
    let live = &app.app().context().live;
    let mut config = (*live.load().config).clone();
    config.sources.remove(&"github".parse().unwrap());
    config.routes.retain(|route| route.source.as_str() != "github");
    live.store(Arc::new(Blueprint::of(Arc::new(config), app.clock()).unwrap()));
    let refused = promote(&app, conflict).await;
    assert!(
        matches!(&refused, Err(OperateError::Refused { problem, .. }) if problem.contains("github")),
        "{refused:?}"
    );
    assert_eq!(app.count("select count(*) from oncehook.conflicts where promoted_to is not null").await, 0);
}
