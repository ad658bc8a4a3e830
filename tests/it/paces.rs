//! Limits of destinations and routes: deliveries at a time and attempts in a time, over all workers and processes.

use std::{sync::Arc, time::Duration};

use oncehook::{config::Config, domain::DeliveryState, run::drain_due};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::support::{bench::Bench, script::Step};

fn deployer(config: &mut Config) -> &mut oncehook::config::Destination {
    config.destinations.get_mut(&"deployer".parse().unwrap()).unwrap()
}

/// Six workers of two processes on eight lanes, while every attempt stays under way and the clock stands still: whoever finds
/// no room has to leave its lane.
async fn assert_two_at_a_time(change: impl FnOnce(&mut Config)) {
    let bench = Arc::new(Bench::with(change).await);
    let gate = Arc::new(Semaphore::new(0));
    for lane in 0..8 {
        let delivery = bench.record(Some(&format!("lane-{lane}"))).await;
        bench.script.plan(delivery, [Step::Hold(gate.clone())]);
    }
    stop_clock_after_now(&bench).await;
    let mut workers = JoinSet::new();
    for number in 0..6 {
        let bench = bench.clone();
        workers.spawn(async move {
            let worker = format!("host/{}/{number}", number % 2);
            while drain_due(&bench.ctx, &worker).await.unwrap() > 0 {}
        });
    }
    for _ in 0..4 {
        tokio::select! {
            () = bench.script.until_begun(3) => panic!("a third attempt began while two were under way"),
            left = workers.join_next() => left.unwrap().unwrap(),
        }
    }
    assert_eq!(bench.script.begun().len(), 2, "and there was room for two");
    gate.add_permits(8);
    while workers.join_next().await.is_some() {}
    bench.set_clock(3_600).await;
    bench.drain().await;
    assert_eq!(bench.script.begun().len(), 8);
}

/// A clock that stands still, a moment after everything so far was recorded.
async fn stop_clock_after_now(bench: &Bench) {
    let now: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("select pg_catalog.now() + interval '1 s'").fetch_one(bench.pool()).await.unwrap();
    bench
        .run_sql(&format!(
            "create or replace function oncehook.now() returns timestamptz language sql stable parallel safe
             as 'select timestamptz ''{}'''",
            now.to_rfc3339()
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_deliveries_run_at_a_destination_than_its_limit() {
    assert_two_at_a_time(|config| deployer(config).concurrency = Some(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_deliveries_of_a_route_run_than_its_limit() {
    assert_two_at_a_time(|config| config.routes[0].concurrency = Some(2)).await;
}

#[tokio::test]
async fn a_lane_that_waits_for_a_full_destination_does_not_hold_up_others() {
    let bench = Arc::new(Bench::with(|config| deployer(config).concurrency = Some(1)).await);
    let gate = Arc::new(Semaphore::new(0));
    let first = bench.record(Some("a")).await;
    bench.script.plan(first, [Step::Hold(gate.clone())]);
    let holder = {
        let bench = bench.clone();
        tokio::spawn(async move { drain_due(&bench.ctx, "host/1/a").await.unwrap() })
    };
    bench.script.until_begun(1).await;
    let waits = bench.record(Some("b")).await;
    let elsewhere = bench.record(Some("c")).await;
    bench
        .run_sql(&format!("update oncehook.deliveries set destination = 'other' where id = '{}'", elsewhere.uuid()))
        .await;
    let other = oncehook::config::Destination {
        name: "other".parse().unwrap(),
        kind: oncehook::config::DestinationKind::Log,
        concurrency: None,
        pace: None,
    };
    bench.reload(|config| drop(config.destinations.insert(other.name.clone(), other)));
    drain_due(&bench.ctx, "host/2/b").await.unwrap();
    assert_eq!(bench.state(waits).await, DeliveryState::Queued);
    assert_eq!(bench.column::<i32>(waits, "tries").await, 0, "waiting is no try");
    assert_eq!(bench.state(elsewhere).await, DeliveryState::Succeeded);
    gate.add_permits(1);
    holder.await.unwrap();
    bench.set_clock(60).await;
    bench.drain().await;
    assert_eq!(bench.state(waits).await, DeliveryState::Succeeded);
}

/// A clock that stands still until the test moves it.
async fn stop_clock_at(bench: &Bench, seconds: i32) {
    bench
        .run_sql(&format!(
            "create or replace function oncehook.now() returns timestamptz language sql stable parallel safe
             as 'select timestamptz ''2026-01-05 10:00:00Z'' + interval ''{seconds} s'''"
        ))
        .await;
}

async fn paced(count: usize) -> Bench {
    let bench = Bench::with(|config| deployer(config).pace = Some(Duration::from_secs(10))).await;
    stop_clock_at(&bench, 0).await;
    for lane in 0..count {
        bench.record(Some(&format!("lane-{lane}"))).await;
    }
    bench.run_sql("update oncehook.deliveries set due_at = oncehook.now()").await;
    bench.run_sql("update apalis.jobs set run_at = oncehook.now() - interval '1 s'").await;
    bench
}

#[tokio::test]
async fn attempts_begin_at_the_pace_of_their_destination() {
    let bench = paced(4).await;
    for (seconds, begun) in [(0, 1), (9, 1), (11, 2), (19, 2), (21, 3), (31, 4)] {
        stop_clock_at(&bench, seconds).await;
        bench.drain().await;
        assert_eq!(bench.script.begun().len(), begun, "after {seconds} s");
    }
}

#[tokio::test]
async fn slots_that_an_outage_let_pass_are_not_made_up_for_in_a_burst() {
    let bench = paced(5).await;
    bench.drain().await;
    assert_eq!(bench.script.begun().len(), 1);
    // The slots of the other four pass while nobody looks.
    for (seconds, begun) in [(1_000, 2), (1_009, 2), (1_011, 3), (1_021, 4), (1_031, 5)] {
        stop_clock_at(&bench, seconds).await;
        bench.drain().await;
        assert_eq!(bench.script.begun().len(), begun, "after {seconds} s");
    }
}

#[tokio::test]
async fn a_lone_delivery_that_let_its_slot_pass_does_not_wait_for_another() {
    let bench = paced(2).await;
    bench.drain().await;
    stop_clock_at(&bench, 15).await;
    bench.drain().await;
    assert_eq!(bench.script.begun().len(), 2, "nobody is behind it");
}
