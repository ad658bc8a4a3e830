//! Replay: finished deliveries run again, missing ones are planned by the routes of today, and neither bypasses the order.

use std::sync::Arc;

use oncehook::{
    blueprint::Blueprint,
    config::Config,
    domain::{DeliveryRef, DeliveryState, ReceiptId},
    operate::{OperateError, Replayed},
};

use crate::support::{
    app::TestApp,
    desk::{by, operator},
    invariants::assert_lane_invariants,
};

/// One route for main, one without order, one for Stripe.
const ROUTES: &str = r#"
[[routes]]
name = "main-only"
source = "github"
events = ["push"]
filter = 'payload.ref == "refs/heads/main"'
ordering_key = "/repository/id"
destination = "demo"
[[routes]]
name = "loose"
source = "github"
events = ["release"]
order = "none"
destination = "demo"
"#;

async fn push(app: &TestApp, branch: &str) -> ReceiptId {
    let reply = app.sender().push(branch).send().await;
    assert_eq!(reply.text_of("status"), "accepted", "{}", reply.text);
    reply.text_of("receipt").parse().unwrap()
}

async fn replay(app: &TestApp, receipt: ReceiptId, route: Option<&str>) -> Result<Replayed, OperateError> {
    let route = route.map(|route| route.parse().unwrap());
    let replayed = app.app().desk().replay(receipt, route.as_ref(), by(&operator())).await;
    assert_lane_invariants(&mut app.database().await).await;
    replayed
}

fn done(replayed: &Replayed) -> Vec<(&str, &str, DeliveryState)> {
    replayed.deliveries.iter().map(|one| (one.route.as_str(), one.done.as_str(), one.state)).collect()
}

fn reload(app: &TestApp, change: impl FnOnce(&mut Config)) {
    let live = &app.app().context().live;
    let mut config = (*live.load().config).clone();
    change(&mut config);
    live.store(Arc::new(Blueprint::of(Arc::new(config), app.clock()).unwrap()));
}

/// Receipts in the order in which their attempts began, of one route.
async fn ran(app: &TestApp, route: &str) -> Vec<ReceiptId> {
    let rows: Vec<uuid::Uuid> = sqlx::query_scalar(
        "select d.receipt_id from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery
         where d.route = $1 order by a.started_at, a.id",
    )
    .bind(route)
    .fetch_all(&mut app.database().await)
    .await
    .unwrap();
    rows.into_iter().map(ReceiptId::from).collect()
}

#[tokio::test]
async fn a_replay_runs_the_finished_deliveries_of_a_receipt_again_whatever_they_came_to() {
    let app = TestApp::start_with(ROUTES).await;
    let receipt = push(&app, "main").await;
    for state in ["succeeded", "dead", "skipped", "cancelled"] {
        app.run_until_idle().await;
        let sql = "update oncehook.deliveries set state = $1, finished_at = now(), trigger = 'automatic'";
        sqlx::query(sql).bind(state).execute(&mut app.database().await).await.unwrap();
        let replayed = replay(&app, receipt, None).await.unwrap();
        let queued = DeliveryState::Queued;
        assert_eq!(done(&replayed), [("github-demo", "revived", queued), ("main-only", "revived", queued)], "{state}");
        let again = replay(&app, receipt, None).await;
        assert!(
            matches!(&again, Err(OperateError::Refused { problem, .. }) if problem.contains("under way")),
            "{again:?}"
        );
    }
    app.run_until_idle().await;
    let manual = "select count(*) from oncehook.attempts where trigger = 'manual'";
    assert_eq!(app.count(manual).await, 8);
    assert_eq!(app.count("select count(*) from oncehook.audit where action = 'replay'").await, 4);
}

#[tokio::test]
async fn a_replay_of_one_route_leaves_the_others_alone() {
    let app = TestApp::start_with(ROUTES).await;
    let receipt = push(&app, "main").await;
    app.run_until_idle().await;
    let replayed = replay(&app, receipt, Some("main-only")).await.unwrap();
    assert_eq!(done(&replayed), [("main-only", "revived", DeliveryState::Queued)]);
    app.run_until_idle().await;
    assert_eq!(ran(&app, "github-demo").await, [receipt]);
    assert_eq!(ran(&app, "main-only").await, [receipt, receipt]);
}

#[tokio::test]
async fn what_matched_nothing_runs_by_a_route_that_is_named_or_was_added_since() {
    let app = TestApp::start_from(&TestApp::config_with("[sources.github]", "")).await;
    reload(&app, |config| config.routes[0].filter = Some("payload.ref == \"refs/heads/main\"".to_owned()));
    let reply = app.sender().push("other").send().await;
    let receipt: ReceiptId = reply.text_of("receipt").parse().unwrap();

    // Intake works with the same configuration of this moment.
    assert_eq!(reply.json()["deliveries"], 0);
    let nothing = replay(&app, receipt, None).await;
    assert!(
        matches!(&nothing, Err(OperateError::Refused { instead, .. }) if instead.contains("name a route")),
        "{nothing:?}"
    );

    let named = replay(&app, receipt, Some("github-demo")).await.unwrap();
    assert_eq!(done(&named), [("github-demo", "planned", DeliveryState::Queued)]);
    reload(&app, |config| {
        let mut added = config.routes[0].clone();
        (added.name, added.filter) = ("added".parse().unwrap(), None);
        config.routes.push(added);
    });
    let matched = replay(&app, receipt, None).await.unwrap();
    assert_eq!(
        done(&matched),
        [("added", "planned", DeliveryState::Queued), ("github-demo", "left", DeliveryState::Queued)]
    );
    app.run_until_idle().await;
    assert_eq!((ran(&app, "github-demo").await, ran(&app, "added").await), (vec![receipt], vec![receipt]));
    let planned =
        "select count(*) from oncehook.deliveries where trigger = 'manual' and ordering_key = 'ref/1/refs/heads/other'";
    assert_eq!(app.count(planned).await, 2, "in the lane that recording would have put it into");
}

#[tokio::test]
async fn a_replay_goes_behind_what_waits_in_its_lane() {
    let app = TestApp::start_with(ROUTES).await;
    let (first, second, third) = (push(&app, "main").await, push(&app, "x").await, push(&app, "main").await);
    app.run_until_idle().await;
    let (fourth, fifth) = (push(&app, "main").await, push(&app, "main").await);
    let revived = replay(&app, first, Some("main-only")).await.unwrap();
    assert_eq!(done(&revived), [("main-only", "revived", DeliveryState::Waiting)]);
    let planned = replay(&app, second, Some("main-only")).await.unwrap();
    assert_eq!(
        done(&planned),
        [("main-only", "planned", DeliveryState::Waiting)],
        "its filter says no, and it is named"
    );
    let late = push(&app, "main").await;
    app.run_until_idle().await;
    assert_eq!(ran(&app, "main-only").await, [first, third, fourth, fifth, first, second, late]);
}

#[tokio::test]
async fn a_replay_by_event_time_goes_to_its_place_and_what_is_older_than_applied_is_stale() {
    let app = TestApp::start().await;
    reload(&app, |config| config.routes[0].order = oncehook::config::Order::Event);
    let event = async |minute: u32| -> ReceiptId {
        let at = format!("2026-01-01T00:{minute:02}:00Z");
        let body = serde_json::json!({ "action": "edited", "issue": { "id": 5, "number": 5, "updated_at": at }, "repository": { "id": 1 } });
        app.sender().github("issues", body.to_string()).send().await.text_of("receipt").parse().unwrap()
    };
    let (one, two) = (event(1).await, event(2).await);
    app.run_until_idle().await;
    let (four, three) = (event(4).await, event(3).await);
    replay(&app, one, None).await.unwrap();
    replay(&app, two, None).await.unwrap();
    app.run_until_idle().await;
    assert_eq!(ran(&app, "github-demo").await, [one, two, two, three, four], "its own version is not stale");
    let skipped = "select count(*) from oncehook.deliveries where state = 'skipped' and stale_against is not null";
    assert_eq!(app.count(skipped).await, 1);
}

#[tokio::test]
async fn a_delivery_without_a_lane_is_run_again_and_planned_by_its_own_job() {
    let app = TestApp::start_with(ROUTES).await;
    let body = r#"{"action":"published","release":{"id":1},"repository":{"id":1}}"#;
    let receipt: ReceiptId = app.sender().github("release", body).send().await.text_of("receipt").parse().unwrap();
    app.run_until_idle().await;
    replay(&app, receipt, Some("loose")).await.unwrap();
    app.run_until_idle().await;
    let pushed = push(&app, "main").await;
    replay(&app, pushed, Some("loose")).await.unwrap();
    app.run_until_idle().await;
    assert_eq!(ran(&app, "loose").await, [receipt, receipt, pushed]);
}

#[tokio::test]
async fn what_cannot_be_replayed_is_refused_with_what_to_do_instead() {
    let app = TestApp::start_with(ROUTES).await;
    let receipt = push(&app, "main").await;
    app.run_until_idle().await;
    let unknown = replay(&app, ReceiptId::new(), None).await;
    assert!(matches!(unknown, Err(OperateError::NotFound { what: "receipt", .. })), "{unknown:?}");
    let unknown = replay(&app, receipt, Some("nowhere")).await;
    assert!(matches!(unknown, Err(OperateError::NotFound { what: "route", .. })), "{unknown:?}");
    let others = replay(&app, receipt, Some("stripe-demo")).await;
    assert!(matches!(&others, Err(OperateError::Refused { problem, .. }) if problem.contains("stripe")), "{others:?}");
    sqlx::raw_sql("delete from oncehook.payloads").execute(&mut app.database().await).await.unwrap();
    let gone = replay(&app, receipt, None).await;
    assert!(matches!(&gone, Err(OperateError::Refused { problem, .. }) if problem.contains("retention")), "{gone:?}");
    assert_eq!(app.count("select count(*) from oncehook.audit").await, 0);
}

/// A route that was taken away: its deliveries can be run again as long as their destination is there.
#[tokio::test]
async fn a_delivery_of_a_route_that_is_gone_can_be_replayed() {
    let app = TestApp::start_with(ROUTES).await;
    let receipt = push(&app, "main").await;
    app.run_until_idle().await;
    reload(&app, |config| config.routes.retain(|route| route.name.as_str() != "main-only"));
    replay(&app, receipt, Some("main-only")).await.unwrap();
    app.run_until_idle().await;
    assert_eq!(ran(&app, "main-only").await, [receipt, receipt]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn operators_who_replay_at_once_plan_each_delivery_once() {
    let app = TestApp::start_with(ROUTES).await;
    let receipt = push(&app, "x").await;
    app.run_until_idle().await;
    let mut presses = tokio::task::JoinSet::new();
    for route in ["main-only", "loose"].into_iter().cycle().take(16) {
        let (desk, route) = (app.app().desk().clone(), route.parse().unwrap());
        presses.spawn(async move { desk.replay(receipt, Some(&route), by(&operator())).await });
    }
    let results = presses.join_all().await;
    assert!(results.iter().all(|one| matches!(one, Ok(_) | Err(OperateError::Refused { .. }))), "{results:?}");
    assert_eq!(results.iter().filter(|one| one.is_ok()).count(), 2);
    assert_lane_invariants(&mut app.database().await).await;
    app.run_until_idle().await;
    assert_eq!(app.count("select count(*) from oncehook.audit").await, 2);
}

/// Lanes of several routes, from both sides at once: recorders, workers and operators take their locks in one order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replays_among_arrivals_and_workers_neither_deadlock_nor_lose_anything() {
    let app = TestApp::start_with(ROUTES).await;
    let mut receipts = Vec::new();
    for _ in 0..6 {
        receipts.push(push(&app, "main").await);
    }
    let mut busy = tokio::task::JoinSet::new();
    for number in 0..3 {
        let (desk, receipts) = (app.app().desk().clone(), receipts.clone());
        busy.spawn(async move {
            for &receipt in receipts.iter().cycle().skip(number * 2).take(12) {
                match desk.replay(receipt, None, by(&operator())).await {
                    Ok(_) | Err(OperateError::Refused { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let (ctx, sender) = (app.app().context().clone(), app.sender());
        busy.spawn(async move {
            for _ in 0..8 {
                assert_eq!(sender.push("main").send().await.status, 200);
                oncehook::run::drain_due(&ctx, "host/1/w").await.unwrap();
            }
        });
    }
    busy.join_all().await;
    app.run_until_idle().await;
    assert_lane_invariants(&mut app.database().await).await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 60)]);
}

/// The delivery keeps its id, and so its idempotency key: a destination that knows it does nothing twice.
#[tokio::test]
async fn a_replayed_delivery_keeps_its_id() {
    let app = TestApp::start().await;
    let receipt = push(&app, "main").await;
    app.run_until_idle().await;
    let before: uuid::Uuid =
        sqlx::query_scalar("select id from oncehook.deliveries").fetch_one(&mut app.database().await).await.unwrap();
    let replayed = replay(&app, receipt, None).await.unwrap();
    assert_eq!(replayed.deliveries[0].delivery, DeliveryRef::from(before));
    app.run_until_idle().await;
}
