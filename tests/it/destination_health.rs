//! How destinations do: the last success, the last failure, and whether the last attempts all failed.

use oncehook::operate::{Breaker, Desk};

use crate::support::{app::TestApp, bench::Bench, script::Step};

fn desk(bench: &Bench) -> Desk {
    Desk { pool: bench.pool().clone(), live: bench.ctx.live.clone(), bell: bench.ctx.doorbell.clone() }
}

#[tokio::test]
async fn a_destination_is_open_after_five_failures_in_a_row_and_closed_by_a_success() {
    let bench = Bench::new().await;
    let line = async || desk(&bench).destinations().await.unwrap().pop().unwrap();
    let fresh = line().await;
    assert!(fresh.breaker == Breaker::Closed && fresh.last_success_at.is_none() && fresh.last_failure_at.is_none());
    for place in 0..5 {
        assert_eq!(line().await.breaker, Breaker::Closed, "after {place} failures");
        let delivery = bench.record(None).await;
        bench.script.plan(delivery, [Step::Reject]);
        bench.drain().await;
        // Each may come from another process.
        bench.ctx.figures.flush(bench.pool()).await.unwrap();
    }
    let failing = line().await;
    assert_eq!((failing.breaker, failing.dead, failing.unfinished), (Breaker::Open, 5, 0));
    assert_eq!(failing.last_failure.as_deref(), Some("never"));
    bench.record(None).await;
    bench.drain().await;
    bench.ctx.figures.flush(bench.pool()).await.unwrap();
    let healthy = line().await;
    assert_eq!((healthy.breaker, healthy.last_failure_at), (Breaker::Closed, failing.last_failure_at));
    assert!(healthy.last_success_at > healthy.last_failure_at);
}

#[tokio::test]
async fn destinations_and_routes_are_told_without_what_may_hold_a_token() {
    let mut app = TestApp::start_with(
        r#"
        [destinations.chat]
        kind = "http"
        url = "http://127.0.0.1:9/services/T0/B0/canary?token=canary"
        [[routes]]
        name = "news"
        source = "github"
        events = ["push", "release.*"]
        filter = 'payload.ref == "refs/heads/main"'
        order = "none"
        destination = "demo"
        on_dead_destination = "chat"
        "#,
    )
    .await;
    app.sender().push("main").send().await;
    let desk = app.desk_to_look();
    let destinations = desk.destinations().await.unwrap();
    let chat = destinations.iter().find(|line| line.destination == "chat").unwrap();
    assert_eq!((chat.kind.as_str(), chat.place.as_str()), ("http", "http://127.0.0.1:9/…"));
    assert_eq!(chat.routes, ["news"]);
    assert!(!serde_json::to_string(&destinations).unwrap().contains("canary"));
    let demo = destinations.iter().find(|line| line.destination == "demo").unwrap();
    assert_eq!((demo.unfinished, demo.routes.len()), (2, 4));
    let routes = desk.routes().await.unwrap();
    let news = routes.last().unwrap();
    assert_eq!((news.order.as_str(), news.on_dead.as_str(), news.unfinished), ("none", "continue", 1));
    assert_eq!(news.filter.as_deref(), Some("payload.ref == \"refs/heads/main\""));
    app.may_leave_work();
}
