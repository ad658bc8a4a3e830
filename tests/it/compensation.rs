//! `on_dead_destination`: another destination is told once of each dead delivery, before its lane goes on.

use oncehook::{
    config::{self, OnDead, Order},
    domain::{DeliveryRef, DeliveryState},
    operate::retry_delivery,
};

use crate::support::{bench::Bench, script::Step};

async fn bench(on_dead: OnDead) -> Bench {
    Bench::with(|config| {
        let refunds: oncehook::domain::DestinationName = "refunds".parse().unwrap();
        let kind = config::DestinationKind::Log;
        let destination = config::Destination { name: refunds.clone(), kind, concurrency: None, pace: None };
        config.destinations.insert(refunds.clone(), destination);
        config.routes[0].on_dead_destination = Some(refunds);
        config.routes[0].on_dead = on_dead;
    })
    .await
}

async fn compensations(bench: &Bench) -> Vec<DeliveryRef> {
    let sql = "select id from oncehook.deliveries where purpose = 'compensate' and destination = 'refunds' order by id";
    let ids: Vec<uuid::Uuid> = sqlx::query_scalar(sql).fetch_all(bench.pool()).await.unwrap();
    ids.into_iter().map(DeliveryRef::from).collect()
}

#[tokio::test]
async fn a_compensation_runs_once_in_the_lane_before_the_next_delivery_and_under_its_own_id() {
    let bench = bench(OnDead::Continue).await;
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], [Step::Reject, Step::Reject]);
    bench.drain().await;
    let told = compensations(&bench).await;
    assert_eq!(told.len(), 1);
    assert_eq!(bench.script.begun(), [deliveries[0], told[0], deliveries[1]]);

    // It dies a second time: the compensation has been made.
    let mut conn = bench.pool().acquire().await.unwrap();
    retry_delivery(&mut conn, &bench.ctx.doorbell, deliveries[0]).await.unwrap().unwrap();
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    assert_eq!(compensations(&bench).await, told);
    assert_eq!(bench.script.begun().len(), 4);
}

#[tokio::test]
async fn a_compensation_runs_in_a_blocked_lane_too_and_what_waits_does_not() {
    let bench = bench(OnDead::Block).await;
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], [Step::Reject]);
    bench.drain().await;
    let told = compensations(&bench).await;
    assert_eq!(bench.script.begun(), [deliveries[0], told[0]]);
    assert_eq!(bench.state(deliveries[1]).await, DeliveryState::Waiting);
}

#[tokio::test]
async fn a_dead_delivery_that_is_asked_for_again_waits_for_its_compensation() {
    let bench = bench(OnDead::Block).await;
    let dead = bench.record(Some("a")).await;
    bench.script.plan(dead, [Step::Reject]);
    // Only the death, so that the compensation is still to come.
    let jobs = oncehook::store::jobs::due_jobs(&mut bench.pool().acquire().await.unwrap(), 1).await.unwrap();
    let work = oncehook::store::jobs::Work::decode(&jobs[0].1).unwrap();
    bench.reload(|config| config.run.lane_budget = 1);
    oncehook::run::drain_job(&bench.ctx, "host/1/w", jobs[0].0.parse().unwrap(), &work).await.unwrap();
    let told = compensations(&bench).await;
    assert_eq!((bench.script.begun(), bench.state(told[0]).await), (vec![dead], DeliveryState::Queued));
    let mut conn = bench.pool().acquire().await.unwrap();
    retry_delivery(&mut conn, &bench.ctx.doorbell, dead).await.unwrap().unwrap();
    let (first, second) = (bench.column::<i64>(told[0], "seq").await, bench.column::<i64>(dead, "seq").await);
    assert!(first < second, "the lane would have two heads: {first} and {second}");
    bench.drain().await;
    assert_eq!(bench.script.begun(), [dead, told[0], dead]);
}

#[tokio::test]
async fn a_compensation_needs_no_lane_and_never_compensates_itself() {
    let bench = bench(OnDead::Continue).await;
    bench.reload(|config| config.routes[0].order = Order::None);
    let dead = bench.record(None).await;
    bench.script.plan(dead, [Step::Reject]);
    assert_eq!(oncehook::run::drain_due(&bench.ctx, "host/1/w").await.unwrap(), 1);
    bench.check().await;
    let told = compensations(&bench).await;
    bench.script.plan(told[0], [Step::Reject]);
    bench.drain().await;
    assert_eq!(bench.state(told[0]).await, DeliveryState::Dead);
    assert_eq!(bench.script.begun(), [dead, told[0]]);
    assert_eq!(bench.count("select count(*) from oncehook.deliveries").await, 2);
}
