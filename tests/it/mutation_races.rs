//! Operators and workers at the same deliveries at once: each delivery goes one way.

use std::sync::Arc;

use oncehook::{
    domain::{DeliveryRef, DeliveryState},
    operate::OperateError,
    run::drain_due,
};

use crate::support::{
    bench::Bench,
    desk::{by, desk_of, operator},
    script::Step,
};

/// A worker that drains by hand until the others are through and nothing is due.
async fn work(bench: &Arc<Bench>, name: &'static str) {
    let mut quiet = 0;
    while quiet < 20 {
        let jobs = drain_due(&bench.ctx, name).await.unwrap();
        quiet = if jobs == 0 { quiet + 1 } else { 0 };
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_delivery_is_both_run_and_cancelled() {
    let bench = Arc::new(Bench::new().await);
    let mut deliveries: Vec<DeliveryRef> = Vec::new();
    for number in 0..24 {
        let key = format!("lane {}", number % 5);
        deliveries.push(bench.record(if number % 4 == 0 { None } else { Some(&key) }).await);
    }
    for &delivery in &deliveries {
        bench.script.plan(delivery, [Step::Yield(3)]);
    }
    let workers = ["host/1/a", "host/1/b"].map(|name| {
        let bench = bench.clone();
        tokio::spawn(async move { work(&bench, name).await })
    });
    let operators = [0, 1].map(|first| {
        let (bench, deliveries) = (bench.clone(), deliveries.clone());
        tokio::spawn(async move {
            let (desk, operator) = (desk_of(&bench.ctx), operator());
            let mut cancelled = Vec::new();
            for &delivery in deliveries.iter().rev().skip(first).step_by(2) {
                match desk.cancel(delivery, by(&operator)).await {
                    Ok(_) => cancelled.push(delivery),
                    Err(OperateError::Refused { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            cancelled
        })
    });
    let mut cancelled = Vec::new();
    for operator in operators {
        cancelled.extend(operator.await.unwrap());
    }
    for worker in workers {
        worker.await.unwrap();
    }
    bench.drain().await;
    let begun = bench.script.begun();
    for &delivery in &deliveries {
        let times = begun.iter().filter(|one| **one == delivery).count();
        let expected =
            if cancelled.contains(&delivery) { (DeliveryState::Cancelled, 0) } else { (DeliveryState::Succeeded, 1) };
        assert_eq!((bench.state(delivery).await, times), expected);
    }
    assert_eq!(bench.count("select count(*) from oncehook.audit").await, i64::try_from(cancelled.len()).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_operators_who_press_retry_at_once_one_does_it() {
    for key in [Some("a"), None] {
        let bench = Arc::new(Bench::new().await);
        let delivery = bench.record(key).await;
        bench.script.plan(delivery, [Step::Reject]);
        bench.drain().await;
        let mut presses = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let bench = bench.clone();
            presses.spawn(async move { desk_of(&bench.ctx).retry(delivery, by(&operator())).await.is_ok() });
        }
        let done = presses.join_all().await.into_iter().filter(|done| *done).count();
        assert_eq!(done, 1);
        bench.check().await;
        assert_eq!(bench.count("select count(*) from oncehook.audit").await, 1);
        bench.drain().await;
        assert_eq!(bench.script.begun(), [delivery, delivery]);
    }
}

/// A worker has claimed it, and has not committed yet: the operator waits, and then finds that it runs.
#[tokio::test]
async fn a_delivery_that_is_being_claimed_is_not_cancelled() {
    for key in [Some("a"), None] {
        let bench = Arc::new(Bench::new().await);
        let delivery = bench.record(key).await;
        let mut worker = bench.pool().begin().await.unwrap();
        let claim = "update oncehook.deliveries set state = 'running', attempts = 1, tries = 1, leased_by = 'w',
                     lease_expires_at = now() + interval '1 h'";
        sqlx::raw_sql(claim).execute(&mut *worker).await.unwrap();
        let attempt = "insert into oncehook.attempts (id, delivery, number, trigger, worker)
                       select gen_random_uuid(), id, 1, 'automatic', 'w' from oncehook.deliveries";
        sqlx::raw_sql(attempt).execute(&mut *worker).await.unwrap();
        let pressed = {
            let bench = bench.clone();
            tokio::spawn(async move { desk_of(&bench.ctx).cancel(delivery, by(&operator())).await })
        };
        bench.until_somebody_waits_for_a_lock().await;
        worker.commit().await.unwrap();
        let refused = pressed.await.unwrap();
        assert!(
            matches!(&refused, Err(OperateError::Refused { problem, .. }) if problem.contains("running")),
            "{refused:?}"
        );
        bench.check().await;
    }
}

/// The other way round: a worker waits for the operator's commit, and takes the next.
#[tokio::test]
async fn a_delivery_that_is_being_cancelled_is_not_claimed() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 2).await;
    let mut operator = bench.pool().begin().await.unwrap();
    let cancelled = oncehook::store::call_off::cancel_delivery(&mut operator, deliveries[0]).await.unwrap();
    assert_eq!(cancelled, Some(DeliveryState::Queued));
    let ctx = bench.ctx.clone();
    let worker = tokio::spawn(async move { drain_due(&ctx, "host/1/w").await.unwrap() });
    bench.until_somebody_waits_for_a_lock().await;
    operator.commit().await.unwrap();
    worker.await.unwrap();
    bench.drain().await;
    assert_eq!(bench.script.begun(), deliveries[1..]);
}
