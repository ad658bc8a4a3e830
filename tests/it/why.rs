//! Why a receipt went where it went, asked after the fact: with the routes of today, and after its payload is gone.

use oncehook::{domain::ReceiptId, operate::OperateError};

use crate::support::app::TestApp;

const MORE: &str = r#"
[[routes]]
name = "main-only"
source = "github"
events = ["push"]
filter = 'payload.ref == "refs/heads/main"'
destination = "demo"
[[routes]]
name = "releases"
source = "github"
events = ["release.*"]
destination = "demo"
"#;

async fn receive(app: &TestApp, branch: &str) -> ReceiptId {
    app.sender().push(branch).send().await.text_of("receipt").parse().unwrap()
}

#[tokio::test]
async fn every_route_of_the_source_says_why_it_matches_or_does_not() {
    let app = TestApp::start_with(MORE).await;
    let receipt = receive(&app, "topic").await;
    let why = app.desk_to_look().why(receipt).await.unwrap();
    assert!(why.verified.starts_with("verified with the secret ") && why.verified.ends_with("the source has today"));
    let told: Vec<_> = why.routes.iter().map(|it| (it.route.as_str(), it.matches, it.delivery.is_some())).collect();
    assert_eq!(told, [("github-demo", true, true), ("main-only", false, false), ("releases", false, false)]);
    assert!(
        why.routes[0].why.starts_with("push fits one of its patterns (*); its ordering key is "),
        "{:?}",
        why.routes
    );
    assert_eq!(why.routes[1].why, "its filter says no");
    assert_eq!(why.routes[2].why, "none of its patterns (release.*) fits push");
    assert!(why.routes[0].standing.as_ref().unwrap().starts_with("it is its turn"), "{:?}", why.routes[0]);
    assert_eq!((why.routes[1].standing.as_ref(), why.remarks.len()), (None, 0));
    assert!(why.identified.iter().any(|line| line.starts_with("version ")), "{:?}", why.identified);
    app.run_until_idle().await;
    let why = app.desk_to_look().why(receipt).await.unwrap();
    assert!(why.routes[0].standing.as_ref().unwrap().starts_with("succeeded at "), "{:?}", why.routes[0]);
}

#[tokio::test]
async fn when_the_payload_is_gone_the_row_tells_and_filters_cannot_be_asked() {
    let app = TestApp::start_with(MORE).await;
    let receipt = receive(&app, "main").await;
    app.run_until_idle().await;
    sqlx::query("delete from oncehook.payloads").execute(&mut app.database().await).await.unwrap();
    let why = app.desk_to_look().why(receipt).await.unwrap();
    assert!(why.identified.iter().any(|line| line.contains("deleted by retention.payloads")), "{:?}", why.identified);
    let told: Vec<_> = why.routes.iter().map(|it| (it.route.as_str(), it.matches, it.delivery.is_some())).collect();
    assert_eq!(told, [("github-demo", true, true), ("main-only", false, true), ("releases", false, false)]);
    assert_eq!(why.routes[1].why, "cannot be told: it has a filter, and there is no payload to look into");
}

#[tokio::test]
async fn a_delivery_of_a_route_that_is_no_more_is_told_too_and_later_arrivals_are_remarks() {
    let app = TestApp::start().await;
    let push = app.sender().push("main");
    let receipt = push.send().await.text_of("receipt").parse().unwrap();
    push.send().await;
    app.run_until_idle().await;
    let mut database = app.database().await;
    let renamed = "update oncehook.deliveries set route = 'gone'";
    sqlx::query(renamed).execute(&mut database).await.unwrap();
    sqlx::query("update oncehook.receipts set held_since = now()").execute(&mut database).await.unwrap();
    let why = app.desk_to_look().why(receipt).await.unwrap();
    let gone = why.routes.last().unwrap();
    assert_eq!((gone.route.as_str(), gone.matches, gone.delivery.is_some()), ("gone", false, true));
    assert_eq!(gone.why, "the configuration has no such route any more");
    assert!(why.remarks[0].starts_with("held as a suspected replay since "), "{:?}", why.remarks);
    assert!(why.remarks[1].starts_with("came once more with the same payload"), "{:?}", why.remarks);
}

#[tokio::test]
async fn a_receipt_that_is_not_there_has_no_reasons() {
    let app = TestApp::start().await;
    let error = app.desk_to_look().why(ReceiptId::new()).await.unwrap_err();
    assert!(matches!(error, OperateError::NotFound { what: "receipt", .. }), "{error}");
}
