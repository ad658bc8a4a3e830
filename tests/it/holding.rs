//! `replay_guard = "hold"`: the same bytes under another delivery id are stored, and go nowhere until an operator releases them.

use oncehook::{
    domain::{DeliveryState, ReceiptId},
    operate::{OperateError, Replayed},
};

use crate::support::{
    app::TestApp,
    desk::{by, operator},
    invariants::assert_lane_invariants,
    sender::Reply,
};

const BODY: &str = r#"{"ref":"refs/heads/main","repository":{"id":7}}"#;

async fn holding() -> TestApp {
    TestApp::start_from(&TestApp::config_with("[sources.github]", "replay_guard = \"hold\"")).await
}

async fn send(app: &TestApp, id: &str) -> Reply {
    app.sender().github("push", BODY).id(id).send().await
}

fn receipt_of(reply: &Reply) -> ReceiptId {
    reply.text_of("receipt").parse().unwrap()
}

async fn release(app: &TestApp, receipt: ReceiptId) -> Result<Replayed, OperateError> {
    let released = app.app().desk().release(receipt, by(&operator())).await;
    assert_lane_invariants(&mut app.database().await).await;
    released
}

#[tokio::test]
async fn a_held_receipt_is_stored_without_deliveries_and_the_answer_says_so() {
    let app = holding().await;
    assert_eq!(send(&app, "id-0").await.json()["deliveries"], 1);
    let held = send(&app, "id-1").await;
    assert_eq!((held.status, held.text_of("status").as_str()), (200, "accepted"));
    assert_eq!(held.json()["deliveries"], 0);
    assert_eq!(held.text_of("held"), "suspected replay: an operator must release it");
    let stored = "select count(*) from oncehook.receipts r join oncehook.payloads p on p.receipt_id = r.id
        where r.held_since is not null and r.replay_of is not null and 'suspected_replay' = any (r.flags)
          and 'held: nothing is delivered until an operator releases it' = any (r.flags)";
    assert_eq!(app.count(stored).await, 1);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 1);
    assert_eq!(app.count("select count(*) from apalis.jobs").await, 1);
    app.run_until_idle().await;
}

/// The provider's page shows the first few hundred bytes.
#[tokio::test]
async fn the_longest_answer_about_a_held_receipt_stays_short() {
    let app = holding().await;
    let long = "x".repeat(200);
    let letter = |id: &str| app.sender().github(&long, BODY).id(id);
    letter("first").send().await;
    let held = letter(&long).send().await;
    assert!(
        held.text_of("held").ends_with("must release it") && held.text.len() <= 330,
        "{}: {}",
        held.text.len(),
        held.text
    );
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_redelivery_of_a_held_receipt_is_a_duplicate_and_does_not_release_it() {
    let app = holding().await;
    send(&app, "id-0").await;
    let held = receipt_of(&send(&app, "id-1").await);
    let again = send(&app, "id-1").await;
    assert_eq!((again.text_of("status").as_str(), receipt_of(&again)), ("duplicate", held));
    assert_eq!(again.text_of("held"), "suspected replay: an operator must release it");
    assert_eq!(app.count("select count(*) from oncehook.receipts where held_since is not null").await, 1);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 1);
    app.run_until_idle().await;
    assert!(send(&app, "id-0").await.json().get("held").is_none());
}

#[tokio::test]
async fn a_released_receipt_is_delivered_in_its_turn_and_once() {
    let app = holding().await;
    send(&app, "id-0").await;
    let held = receipt_of(&send(&app, "id-1").await);
    let refused = app.app().desk().replay(held, None, by(&operator())).await;
    assert!(
        matches!(&refused, Err(OperateError::Refused { instead, .. }) if instead.contains("release it")),
        "{refused:?}"
    );

    let released = release(&app, held).await.unwrap();
    let [delivery] = &released.deliveries[..] else { panic!("{released:?}") };
    assert_eq!((delivery.done.as_str(), delivery.state), ("planned", DeliveryState::Waiting), "behind the first");
    let again = release(&app, held).await;
    assert!(
        matches!(&again, Err(OperateError::Refused { problem, .. }) if problem.contains("is not held")),
        "{again:?}"
    );
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
    let left = "select count(*) from oncehook.receipts where held_since is not null or flags::text like '%held%'";
    assert_eq!(app.count(left).await, 0);
    assert_eq!(app.count("select count(*) from oncehook.audit where action = 'release'").await, 1);
    // From now on it can be replayed like any other.
    app.app().desk().replay(held, None, by(&operator())).await.unwrap();
    app.run_until_idle().await;
}

#[tokio::test]
async fn of_bytes_that_come_at_once_under_many_ids_one_is_delivered() {
    let app = holding().await;
    let mut sent = tokio::task::JoinSet::new();
    for number in 0..30 {
        let letter = app.sender().github("push", BODY).id(&format!("id-{number}"));
        sent.spawn(async move { letter.send().await.json()["deliveries"].as_i64().unwrap() });
    }
    assert_eq!(sent.join_all().await.into_iter().sum::<i64>(), 1);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}

#[tokio::test]
async fn what_is_not_there_or_has_lost_its_payload_is_not_released() {
    let app = holding().await;
    let missing = release(&app, ReceiptId::new()).await;
    assert!(matches!(missing, Err(OperateError::NotFound { what: "receipt", .. })), "{missing:?}");
    send(&app, "id-0").await;
    let held = receipt_of(&send(&app, "id-1").await);
    app.run_until_idle().await;
    sqlx::raw_sql("delete from oncehook.payloads").execute(&mut app.database().await).await.unwrap();
    let gone = release(&app, held).await;
    assert!(matches!(&gone, Err(OperateError::Refused { problem, .. }) if problem.contains("retention")), "{gone:?}");
    assert_eq!(app.count("select count(*) from oncehook.receipts where held_since is not null").await, 1);
}
