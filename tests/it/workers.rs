//! The real apalis workers, end to end: start, work, die, stop.

use std::{sync::Arc, time::Duration};

use oncehook::{
    domain::DeliveryState,
    run::{Instance, start},
};
use tokio::sync::Semaphore;

use crate::support::{bench::Bench, script::Step};

const GRACE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_run_everything_in_order_and_stop() {
    let bench = Bench::new().await;
    let folder = tempfile::tempdir().unwrap();
    let running = start(&bench.ctx, Instance::begin(folder.path()).unwrap());
    let mut lanes = vec![Vec::new(); 50];
    for place in 0..500 {
        let lane = place % lanes.len();
        let delivery = bench.record(Some(&format!("lane {lane}"))).await;
        bench.script.plan(delivery, [Step::Yield(place % 5)]);
        lanes[lane].push(delivery);
    }
    let lone = bench.record(None).await;
    bench.until_all_are_finished().await;
    assert!(running.stop(GRACE).await, "everything ended by itself");
    bench.check().await;
    let begun = bench.script.begun();
    for lane in lanes {
        let order: Vec<_> = begun.iter().copied().filter(|delivery| lane.contains(delivery)).collect();
        assert_eq!(order, lane, "each once, in order");
    }
    assert_eq!(bench.state(lone).await, DeliveryState::Succeeded);
    assert_eq!(std::fs::read_dir(folder.path().join("instances")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_stop_puts_back_what_does_not_end_in_time() {
    let bench = Bench::new().await;
    let folder = tempfile::tempdir().unwrap();
    let running = start(&bench.ctx, Instance::begin(folder.path()).unwrap());
    let mut held = Vec::new();
    for key in [Some("a"), None] {
        let delivery = bench.record(key).await;
        bench.script.plan(delivery, [Step::Hold(Arc::new(Semaphore::new(0)))]);
        held.push(delivery);
    }
    bench.script.until_begun(2).await;
    assert!(!running.stop(Duration::ZERO).await);
    bench.check().await;
    for delivery in &held {
        assert_eq!(bench.state(*delivery).await, DeliveryState::Queued);
        assert_eq!(bench.column::<i32>(*delivery, "tries").await, 0, "a shutdown is no failure of the delivery");
        assert_eq!(bench.column::<i32>(*delivery, "crashes").await, 0);
        assert_eq!(bench.attempts(*delivery).await[0].1.as_deref(), Some("unknown"));
    }
    assert_eq!(bench.count("select count(*) from apalis.jobs where status = 'Pending'").await, 2);

    let next = oncehook::run::Context { stop: oncehook::run::Stop::default(), ..bench.ctx.clone() };
    let running = start(&next, Instance::begin(folder.path()).unwrap());
    bench.until_all_are_finished().await;
    assert!(running.stop(GRACE).await);
    bench.check().await;
    assert_eq!(bench.script.begun().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_died_is_rebuilt_under_another_name() {
    let bench = Bench::with(|config| config.run.heartbeat = Duration::from_millis(500)).await;
    let folder = tempfile::tempdir().unwrap();
    let running = start(&bench.ctx, Instance::begin(folder.path()).unwrap());
    bench.record(Some("a")).await;
    bench.until_all_are_finished().await;
    // A worker whose row is gone learns so at its next heartbeat, and dies.
    let killed = bench.run_sql("delete from apalis.workers where id not in (select lock_by from apalis.jobs)").await;
    assert!(killed > 0);
    while bench.count("select count(*) from apalis.workers where id like '%-1'").await == 0 {
        tokio::task::yield_now().await;
    }
    bench.record(Some("b")).await;
    bench.until_all_are_finished().await;
    assert!(running.stop(GRACE).await);
    bench.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_that_nobody_can_read_is_set_aside_and_the_worker_lives() {
    let bench = Bench::new().await;
    let folder = tempfile::tempdir().unwrap();
    bench
        .run_sql(
            "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
             values ('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'oncehook', 'rubbish', 'Pending', 0, 1000000, now() - interval '1 s', 0)",
        )
        .await;
    let running = start(&bench.ctx, Instance::begin(folder.path()).unwrap());
    bench.record(Some("a")).await;
    bench.until_all_are_finished().await;
    while bench.count("select count(*) from apalis.jobs where status = 'Killed'").await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.count("select count(*) from apalis.workers where id like '%-1'").await, 0);
    assert!(running.stop(GRACE).await);
    bench.run_sql("delete from apalis.jobs where status = 'Killed'").await;
    bench.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_break_under_load_cost_nothing_but_time() {
    let bench = Bench::with(|config| {
        config.run.heartbeat = Duration::from_millis(500);
        config.run.lease = Duration::from_secs(2);
        config.run.rescue = Duration::from_millis(500);
        config.run.crashes_max = 100;
    })
    .await;
    let observer = bench.database.observer().await;
    let mut lanes = vec![Vec::new(); 20];
    for place in 0..400 {
        let lane = place % lanes.len();
        lanes[lane].push(bench.record(Some(&format!("lane {lane}"))).await);
    }
    let folder = tempfile::tempdir().unwrap();
    let running = start(&bench.ctx, Instance::begin(folder.path()).unwrap());
    for breaks in 1..=5 {
        bench.script.until_begun(breaks * 50).await;
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name <> 'observer'",
        )
        .execute(&observer)
        .await
        .unwrap();
    }
    let unfinished = "select count(*) from oncehook.deliveries where finished_at is null";
    while sqlx::query_scalar::<_, i64>(unfinished).fetch_one(&observer).await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(running.stop(GRACE).await);
    let mut conn = observer.acquire().await.unwrap();
    crate::support::invariants::assert_lane_invariants(&mut conn).await;
    let all = "select count(*) from oncehook.deliveries where state = 'succeeded'";
    assert_eq!(sqlx::query_scalar::<_, i64>(all).fetch_one(&observer).await.unwrap(), 400);
    // A delivery whose claim or settlement was lost on the way is tried again; it never changes places.
    let begun = bench.script.begun();
    for lane in lanes {
        let mut order: Vec<_> = begun.iter().copied().filter(|delivery| lane.contains(delivery)).collect();
        order.dedup();
        assert_eq!(order, lane);
    }
}
