//! What becomes of a lane when one of its deliveries dies: it goes on, or it waits for the dead one.

use oncehook::{
    config::OnDead,
    domain::{DeliveryRef, DeliveryState},
    operate::{retry_delivery, unblock_lane},
    run::rescue_once,
};

use crate::support::{
    bench::{Bench, lane},
    script::Step,
};

async fn blocking() -> Bench {
    Bench::with(|config| config.routes[0].on_dead = OnDead::Block).await
}

/// A lane `a` with so many deliveries, the first of which is dead.
async fn with_dead_head(bench: &Bench, count: usize) -> Vec<DeliveryRef> {
    let deliveries = bench.record_many("a", count).await;
    bench.script.plan(deliveries[0], [Step::Reject]);
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    deliveries
}

async fn retry(bench: &Bench, delivery: DeliveryRef) -> Option<DeliveryState> {
    let state =
        retry_delivery(&mut bench.pool().acquire().await.unwrap(), &bench.ctx.doorbell, delivery).await.unwrap();
    bench.check().await;
    state
}

async fn unblock(bench: &Bench) -> bool {
    let mut conn = bench.pool().acquire().await.unwrap();
    unblock_lane(&mut conn, &bench.ctx.doorbell, &lane("a")).await.unwrap()
}

#[tokio::test]
async fn a_lane_goes_on_after_a_dead_delivery() {
    let bench = Bench::new().await;
    let deliveries = with_dead_head(&bench, 3).await;
    assert_eq!(bench.script.begun(), deliveries);
    assert!(!unblock(&bench).await, "nothing is blocked");
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0);
}

#[tokio::test]
async fn a_blocked_lane_waits_and_takes_in_what_comes_while_other_lanes_go_on() {
    let bench = blocking().await;
    let blocked = with_dead_head(&bench, 2).await;
    let later = bench.record(Some("a")).await;
    let free = bench.record_many("b", 2).await;
    bench.drain().await;
    assert_eq!(bench.state(blocked[1]).await, DeliveryState::Waiting);
    assert_eq!(bench.state(later).await, DeliveryState::Waiting);
    assert_eq!(bench.state(free[1]).await, DeliveryState::Succeeded);
    assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0, "a blocked lane costs nothing");
}

#[tokio::test]
async fn a_dead_delivery_that_is_asked_for_again_is_the_head_of_the_lane_that_it_blocked() {
    let bench = blocking().await;
    let deliveries = with_dead_head(&bench, 3).await;
    assert_eq!(retry(&bench, deliveries[0]).await, Some(DeliveryState::Queued));
    assert_eq!(retry(&bench, deliveries[0]).await, None, "once is enough");
    bench.drain().await;
    assert_eq!(bench.script.begun()[1..], deliveries, "it went first, and the lane went on behind it");
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0);
}

#[tokio::test]
async fn a_delivery_that_dies_again_blocks_its_lane_again() {
    let bench = blocking().await;
    let deliveries = with_dead_head(&bench, 2).await;
    bench.script.plan(deliveries[0], [Step::Reject]);
    retry(&bench, deliveries[0]).await;
    bench.drain().await;
    assert_eq!(bench.state(deliveries[1]).await, DeliveryState::Waiting);
    assert!(unblock(&bench).await);
}

#[tokio::test]
async fn an_unblocked_lane_goes_on_behind_its_dead_delivery() {
    let bench = blocking().await;
    let deliveries = with_dead_head(&bench, 3).await;
    assert!(unblock(&bench).await);
    assert!(!unblock(&bench).await, "it is not blocked any more");
    bench.check().await;
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    assert_eq!(bench.script.begun(), deliveries);
}

#[tokio::test]
async fn a_lane_that_is_blocked_and_empty_can_be_unblocked_too() {
    let bench = blocking().await;
    with_dead_head(&bench, 1).await;
    assert_eq!(bench.count("select count(*) from oncehook.lanes where blocked_by is not null").await, 1);
    assert!(unblock(&bench).await);
    assert_eq!(bench.drain().await, 1);
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0);
}

#[tokio::test]
async fn the_reconciler_gives_a_blocked_lane_no_job() {
    let bench = blocking().await;
    with_dead_head(&bench, 2).await;
    assert_eq!(rescue_once(bench.pool()).await.unwrap(), 0);
    assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0);
}

#[tokio::test]
async fn a_delivery_that_killed_its_workers_blocks_its_lane_as_any_dead_one() {
    for (on_dead, next) in [(OnDead::Block, DeliveryState::Waiting), (OnDead::Continue, DeliveryState::Succeeded)] {
        let bench = Bench::with(|config| {
            config.routes[0].on_dead = on_dead;
            config.run.crashes_max = 1;
        })
        .await;
        let deliveries = bench.record_many("a", 2).await;
        // A worker that claimed it and died.
        bench
            .run_sql(&format!(
                "with head as (update oncehook.deliveries set state = 'running', attempts = 1, tries = 1, leased_by = 'gone',
                                      lease_expires_at = oncehook.now() - interval '1 s' where id = '{}' returning id)
                 insert into oncehook.attempts (id, delivery, number, trigger, worker)
                 select gen_random_uuid(), id, 1, 'automatic', 'gone' from head",
                deliveries[0].uuid()
            ))
            .await;
        bench.drain().await;
        assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
        assert_eq!(bench.state(deliveries[1]).await, next);
    }
}

#[tokio::test]
async fn a_delivery_that_is_asked_for_again_does_not_bypass_what_waits() {
    let bench = Bench::new().await;
    let dead = with_dead_head(&bench, 1).await[0];
    let waiting = bench.record_many("a", 2).await;
    assert_eq!(retry(&bench, dead).await, Some(DeliveryState::Waiting));
    bench.drain().await;
    assert_eq!(bench.script.begun(), [dead, waiting[0], waiting[1], dead]);
    let trigger = bench.column::<String>(dead, "trigger").await;
    assert_eq!((trigger.as_str(), bench.column::<i32>(dead, "tries").await), ("manual", 1));
}

#[tokio::test]
async fn only_what_is_dead_or_cancelled_can_be_asked_for_again() {
    let bench = Bench::new().await;
    let delivery = bench.record(None).await;
    assert_eq!(retry(&bench, delivery).await, None, "it waits already");
    bench.drain().await;
    assert_eq!(retry(&bench, delivery).await, None, "it succeeded");
    let cancelled = format!("update oncehook.deliveries set state = 'cancelled' where id = '{}'", delivery.uuid());
    bench.run_sql(&cancelled).await;
    assert_eq!(retry(&bench, delivery).await, Some(DeliveryState::Queued));
    assert_eq!(retry(&bench, DeliveryRef::new()).await, None, "there is no such delivery");
    bench.drain().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
}

/// The lane may retire between the look at the delivery and the lock on the lane: nothing may be left without a job.
#[tokio::test]
async fn a_lane_that_was_opened_in_vain_is_not_left_behind() {
    let bench = Bench::new().await;
    let dead = with_dead_head(&bench, 1).await[0];
    let mut first = bench.pool().begin().await.unwrap();
    assert!(retry_delivery(&mut first, &bench.ctx.doorbell, dead).await.unwrap().is_some());
    let (ctx, pool) = (bench.ctx.clone(), bench.pool().clone());
    let second =
        tokio::spawn(
            async move { retry_delivery(&mut pool.acquire().await.unwrap(), &ctx.doorbell, dead).await.unwrap() },
        );
    bench.until_somebody_waits_for_a_lock().await;
    sqlx::query("update oncehook.deliveries set state = 'succeeded', finished_at = now() where id = $1")
        .bind(dead.uuid())
        .execute(&mut *first)
        .await
        .unwrap();
    sqlx::raw_sql("delete from oncehook.lanes; delete from apalis.jobs").execute(&mut *first).await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), None, "it was done already");
    bench.check().await;
}
