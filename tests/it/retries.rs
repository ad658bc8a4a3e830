//! Retries, back-off and dead letters, all in our own tables.

use std::{sync::Arc, time::Duration};

use oncehook::{domain::DeliveryState, run::drain_due};
use tokio::sync::Semaphore;

use crate::support::{bench::Bench, script::Step};

#[tokio::test]
async fn a_failed_delivery_is_tried_again_when_it_is_due_and_keeps_its_place() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 3).await;
    bench.script.plan(deliveries[0], [Step::Fail, Step::Fail]);
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Retrying);
    assert_eq!(bench.column::<String>(deliveries[0], "last_error").await, "refused\u{fffd} for now");
    assert_eq!(
        bench.count("select count(*) from apalis.jobs j, oncehook.deliveries d where j.run_at = d.due_at").await,
        1,
        "the lane's job waits exactly as long as its head"
    );
    for hours in 1..=2 {
        bench.set_clock(3_600 * hours).await;
        bench.drain().await;
    }
    let [a, b, c] = deliveries[..] else { unreachable!() };
    assert_eq!(bench.script.begun(), [a, a, a, b, c]);
    let outcomes: Vec<_> = bench.attempts(a).await.into_iter().map(|(number, outcome, _)| (number, outcome)).collect();
    let expected = ["failed", "failed", "succeeded"].map(|word| Some(word.to_owned()));
    assert_eq!(outcomes, (1..).zip(expected).collect::<Vec<_>>());
    assert_eq!(bench.column::<Option<String>>(a, "last_error").await, None);
}

#[tokio::test]
async fn a_delivery_that_always_fails_is_a_dead_letter_after_its_last_attempt_and_the_lane_goes_on() {
    for key in [Some("a"), None] {
        let bench = Bench::new().await;
        let poison = bench.record(key).await;
        let next = bench.record(key).await;
        bench.script.plan(poison, vec![Step::Fail; 9]);
        for hours in 0..9 {
            bench.set_clock(3_600 * hours).await;
            bench.drain().await;
        }
        assert_eq!(bench.state(poison).await, DeliveryState::Dead);
        assert_eq!(bench.attempts(poison).await.len(), 5, "retry.attempts counts them all");
        assert!(bench.column::<String>(poison, "last_error").await.contains("refused"));
        assert_eq!(bench.state(next).await, DeliveryState::Succeeded);
        assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0);
    }
}

#[tokio::test]
async fn a_rejected_delivery_is_a_dead_letter_at_once() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], [Step::Reject]);
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    assert_eq!(bench.attempts(deliveries[0]).await, [(1, Some("rejected".into()), Some("never".into()))]);
    let why = bench.column::<String>(deliveries[0], "last_error").await;
    assert_eq!(why, "never, which another attempt would not change");
    assert_eq!(bench.state(deliveries[1]).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn an_attempt_that_panics_is_unknown_and_tried_again() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], [Step::Panic]);
    bench.drain().await;
    let (number, class, reason) = bench.attempts(deliveries[0]).await.remove(0);
    assert_eq!((number, class.as_deref()), (1, Some("unknown")));
    assert!(reason.unwrap().contains("panicked"));
    bench.set_clock(3_600).await;
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Succeeded);
    assert_eq!(bench.column::<i32>(deliveries[0], "crashes").await, 0, "a panic is no dead worker");
}

#[tokio::test]
async fn an_attempt_that_never_ends_is_cut_off_and_unknown() {
    let bench = Arc::new(Bench::with(|config| config.run.heartbeat = Duration::from_secs(3_600)).await);
    let delivery = bench.record(Some("a")).await;
    bench.script.plan(delivery, [Step::Hold(Arc::new(Semaphore::new(0)))]);
    let draining = {
        let bench = bench.clone();
        tokio::spawn(async move { drain_due(&bench.ctx, "host/1/w").await.unwrap() })
    };
    bench.script.until_begun(1).await;
    // Nothing but the attempt waits for time now.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    draining.await.unwrap();
    bench.check().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Retrying);
    let (_, class, reason) = bench.attempts(delivery).await.remove(0);
    assert_eq!(class.as_deref(), Some("unknown"));
    assert!(reason.unwrap().contains("did not end within 5s"));
}
