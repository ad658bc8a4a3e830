//! Promise P7: whatever crashes, every delivery ends or visibly waits.

use std::sync::Arc;

use oncehook::{
    domain::DeliveryState,
    run::{Drained, Instance, bury, drain_due, drain_job, find_dead, rescue_once},
    store::jobs::{Work, due_jobs},
};
use tokio::{sync::Semaphore, task::JoinHandle};

use crate::support::{bench::Bench, script::Step};

/// A worker that takes what is due and stays in its first delivery until the gate opens.
async fn start_holding(bench: &Arc<Bench>, worker: &str, begun: usize) -> JoinHandle<Drained> {
    let (id, payload) = due_jobs(&mut bench.pool().acquire().await.unwrap(), 1).await.unwrap().remove(0);
    let holder = {
        let (bench, worker) = (bench.clone(), worker.to_owned());
        tokio::spawn(async move {
            drain_job(&bench.ctx, &worker, id.parse().unwrap(), &Work::decode(&payload).unwrap()).await.unwrap()
        })
    };
    bench.script.until_begun(begun).await;
    holder
}

#[tokio::test]
async fn a_delivery_of_a_dead_worker_is_taken_back_when_its_lease_ends() {
    for key in [Some("a"), None] {
        let bench = Arc::new(Bench::new().await);
        let gate = Arc::new(Semaphore::new(0));
        let delivery = bench.record(key).await;
        bench.script.plan(delivery, [Step::Hold(gate.clone())]);
        start_holding(&bench, "host/1/dead", 1).await.abort();
        bench.drain().await;
        assert_eq!(bench.state(delivery).await, DeliveryState::Running, "the lease holds");
        bench.set_clock(31).await;
        bench.drain().await;
        assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
        assert_eq!(bench.column::<i32>(delivery, "crashes").await, 1);
        let attempts = bench.attempts(delivery).await;
        assert_eq!(attempts[0].1.as_deref(), Some("unknown"));
        assert_eq!(attempts[0].2.as_deref(), Some("the worker died or lost its lease"));
        assert_eq!(attempts[1].1.as_deref(), Some("succeeded"));
    }
}

#[tokio::test]
async fn a_delivery_that_kills_three_workers_is_a_dead_letter_and_the_lane_goes_on() {
    let bench = Arc::new(Bench::new().await);
    let gate = Arc::new(Semaphore::new(0));
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], vec![Step::Hold(gate); 9]);
    for crash in 1..=3 {
        start_holding(&bench, "host/1/dead", crash).await.abort();
        bench.set_clock(60 * i32::try_from(crash).unwrap()).await;
        // The job that waits for the lease is what apalis would run next.
        bench.run_sql("update apalis.jobs set run_at = now() - interval '1 s'").await;
    }
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    assert!(bench.column::<String>(deliveries[0], "last_error").await.starts_with("crashed worker: 3"));
    assert_eq!(bench.attempts(deliveries[0]).await.len(), 3);
    assert_eq!(bench.state(deliveries[1]).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn a_worker_that_comes_back_from_the_dead_settles_nothing() {
    let bench = Arc::new(Bench::new().await);
    let (gate, open) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let delivery = bench.record(Some("a")).await;
    bench.script.plan(delivery, [Step::Hold(gate.clone()), Step::Hold(open.clone())]);
    let zombie = start_holding(&bench, "host/1/zombie", 1).await;
    bench.set_clock(31).await;
    let successor = start_holding(&bench, "host/1/successor", 2).await;
    gate.add_permits(1);
    assert_eq!(zombie.await.unwrap(), Drained::Fenced);
    assert_eq!(bench.state(delivery).await, DeliveryState::Running, "it belongs to the successor");
    bench.check().await;
    open.add_permits(1);
    assert_eq!(successor.await.unwrap(), Drained::Retired);
    bench.check().await;
    let outcomes: Vec<_> = bench.attempts(delivery).await.into_iter().map(|(_, outcome, _)| outcome).collect();
    assert_eq!(outcomes, [Some("unknown".to_owned()), Some("succeeded".to_owned())]);
}

#[tokio::test]
async fn a_lease_is_renewed_for_as_long_as_its_attempt_runs() {
    let bench = Arc::new(Bench::with(|config| config.run.heartbeat = std::time::Duration::from_millis(5)).await);
    let gate = Arc::new(Semaphore::new(0));
    let delivery = bench.record(Some("a")).await;
    bench.script.plan(delivery, [Step::Hold(gate.clone())]);
    let holder = start_holding(&bench, "host/1/w", 1).await;
    let first = bench.column::<chrono::DateTime<chrono::Utc>>(delivery, "lease_expires_at").await;
    while bench.column::<chrono::DateTime<chrono::Utc>>(delivery, "lease_expires_at").await == first {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    assert_eq!(holder.await.unwrap(), Drained::Retired);
    bench.check().await;
}

#[tokio::test]
async fn a_start_sets_free_what_the_dead_process_held_and_nothing_else() {
    let bench = Arc::new(Bench::new().await);
    let folder = tempfile::tempdir().unwrap();
    let dead = Instance::begin(folder.path()).unwrap();
    let alive = Instance::begin(folder.path()).unwrap();
    let gate = Arc::new(Semaphore::new(0));
    let mut deliveries = Vec::new();
    let mut holders = Vec::new();
    for (place, instance) in [&dead, &alive].into_iter().enumerate() {
        let worker = instance.name().worker("0-0");
        let delivery = bench.record(Some(&format!("lane {place}"))).await;
        bench.script.plan(delivery, [Step::Hold(gate.clone())]);
        holders.push(start_holding(&bench, &worker, place + 1).await);
        // As apalis marks the job that a worker has taken.
        bench.run_sql(&format!("insert into apalis.workers values ('{worker}', 'oncehook', '', '')")).await;
        let taken = format!("update apalis.jobs set status = 'Queued', lock_by = '{worker}' where status = 'Pending'");
        assert_eq!(bench.run_sql(&taken).await, 1);
        deliveries.push(delivery);
    }
    assert!(find_dead(folder.path()).unwrap().is_empty(), "both live");

    holders[0].abort();
    let path = dead.path().to_owned();
    drop(dead);

    let found = find_dead(folder.path()).unwrap();
    assert_eq!(found.len(), 1);
    for instance in found {
        bury(bench.pool(), instance).await.unwrap();
    }
    assert!(!path.exists(), "it is buried");
    bench.check().await;
    assert_eq!(bench.count("select count(*) from apalis.jobs where status = 'Pending'").await, 1);
    assert_eq!(bench.drain().await, 1);
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Succeeded);
    assert_eq!(bench.column::<i32>(deliveries[0], "crashes").await, 1);
    assert_eq!(bench.state(deliveries[1]).await, DeliveryState::Running, "the living keep what they hold");
    gate.add_permits(1);
    holders.remove(1).await.unwrap();
    bench.check().await;
    assert!(alive.path().exists());
}

#[tokio::test]
async fn the_reconciler_gives_a_fresh_job_to_what_has_none_and_never_a_second() {
    for key in [Some("a"), None] {
        for loss in [
            "delete from apalis.jobs",
            "update apalis.jobs set status = 'Done', done_at = now()",
            "update apalis.jobs set status = 'Killed'",
            "update apalis.jobs set status = 'Failed', attempts = max_attempts",
            "update apalis.jobs set status = 'Queued', lock_at = now() - interval '61 s'",
        ] {
            let bench = Bench::new().await;
            let delivery = bench.record(key).await;
            assert_eq!(rescue_once(bench.pool()).await.unwrap(), 0, "a job on the queue is left alone");
            assert_eq!(bench.run_sql(loss).await, 1);
            assert_eq!(rescue_once(bench.pool()).await.unwrap(), 1, "{loss}");
            bench.check().await;
            assert_eq!(rescue_once(bench.pool()).await.unwrap(), 0);
            assert_eq!(bench.drain().await, 1);
            assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
        }
    }
}

#[tokio::test]
async fn the_reconciler_leaves_a_job_alone_whose_delivery_runs_under_a_live_lease() {
    for key in [Some("a"), None] {
        let bench = Arc::new(Bench::new().await);
        let gate = Arc::new(Semaphore::new(0));
        let delivery = bench.record(key).await;
        bench.script.plan(delivery, [Step::Hold(gate.clone())]);
        let holder = start_holding(&bench, "host/1/w", 1).await;
        bench.run_sql("update apalis.jobs set status = 'Queued', lock_at = now() - interval '61 s'").await;
        assert_eq!(rescue_once(bench.pool()).await.unwrap(), 0);
        gate.add_permits(1);
        assert_eq!(holder.await.unwrap(), Drained::Retired);
        bench.check().await;
    }
}

#[tokio::test]
async fn two_reconcilers_at_once_make_one_job() {
    let bench = Bench::new().await;
    for place in 0..20 {
        bench.record(Some(&format!("lane {place}"))).await;
    }
    bench.run_sql("delete from apalis.jobs").await;
    let (one, two) = tokio::join!(rescue_once(bench.pool()), rescue_once(bench.pool()));
    assert_eq!(one.unwrap() + two.unwrap(), 20);
    bench.check().await;
    assert_eq!(drain_due(&bench.ctx, "host/1/w").await.unwrap(), 20);
}
