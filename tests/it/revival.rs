//! A redelivery of a dead delivery revives it, once; of everything else it does nothing.

use futures_util::future::join_all;
use oncehook::{
    domain::{Arrival, DeliveryState, NewReceipt, Standing},
    record::RecordError,
};

use crate::support::{
    cluster::fresh_database,
    invariants::assert_lane_invariants,
    recorders::{RecordBench, event, start_recorder},
};

/// One event, recorded, with its delivery in `state`.
async fn finished(bench: &RecordBench, key: Option<&str>, state: &str) {
    bench.record_together(vec![event("one", key, "{}")]).await.remove(0).unwrap();
    bench
        .run_sql(&format!(
            "delete from apalis.jobs; delete from oncehook.lanes;
             update oncehook.deliveries set state = '{state}', finished_at = now(), attempts = 3, tries = 3, last_error = 'x'"
        ))
        .await;
}

fn standings(result: Result<Arrival, RecordError>) -> Vec<Standing> {
    match result.unwrap() {
        Arrival::Duplicate(seen) | Arrival::Conflict(seen) => seen.deliveries,
        Arrival::First { .. } | Arrival::Held { .. } | Arrival::Replay { .. } => panic!("it was seen before"),
    }
}

async fn send_again(bench: &RecordBench, again: NewReceipt) -> (DeliveryState, bool) {
    let standing = standings(bench.recorder.record(again).await).remove(0);
    assert_lane_invariants(&mut bench.connect().await).await;
    (standing.state, standing.is_revived)
}

const REVIVED: &str = "select count(*) from oncehook.deliveries
    where state = 'queued' and tries = 0 and attempts = 3 and trigger = 'redelivery' and last_error is null";

#[tokio::test]
async fn a_duplicate_of_a_dead_delivery_revives_it_and_says_so() {
    for key in [Some("a"), None] {
        let bench = RecordBench::new().await;
        finished(&bench, key, "dead").await;
        assert_eq!(send_again(&bench, event("one", key, "{}")).await, (DeliveryState::Queued, true));
        assert_eq!(bench.count(REVIVED).await, 1);
        assert_eq!(bench.count("select count(*) from apalis.jobs").await, 1);
        assert_eq!(send_again(&bench, event("one", key, "{}")).await, (DeliveryState::Queued, false));
    }
}

#[tokio::test]
async fn a_duplicate_of_a_delivery_that_is_not_dead_does_nothing() {
    for state in ["succeeded", "skipped", "cancelled"] {
        let bench = RecordBench::new().await;
        finished(&bench, Some("a"), state).await;
        assert_eq!(send_again(&bench, event("one", Some("a"), "{}")).await, (state.parse().unwrap(), false));
        assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0);
    }
}

#[tokio::test]
async fn only_the_same_payload_from_a_provider_that_means_it_revives() {
    let bench = RecordBench::new().await;
    finished(&bench, Some("a"), "dead").await;
    let conflict = event("one", Some("a"), "{\"other\": 1}");
    assert_eq!(send_again(&bench, conflict).await, (DeliveryState::Dead, false));
    let automatic = NewReceipt { may_revive: false, ..event("one", Some("a"), "{}") };
    assert_eq!(send_again(&bench, automatic).await, (DeliveryState::Dead, false));
    bench.run_sql("update oncehook.receipts set hook_id = '1'").await;
    let through_another_hook = NewReceipt { hook_id: Some("2".to_owned()), ..event("one", Some("a"), "{\"more\": 1}") };
    assert_eq!(send_again(&bench, through_another_hook).await, (DeliveryState::Dead, false));
    assert_eq!(bench.count(REVIVED).await, 0);
}

#[tokio::test]
async fn a_revived_delivery_waits_behind_what_waits() {
    let bench = RecordBench::new().await;
    finished(&bench, Some("a"), "dead").await;
    bench.record_together(vec![event("two", Some("a"), "{}"), event("three", Some("a"), "{}")]).await;
    assert_eq!(send_again(&bench, event("one", Some("a"), "{}")).await, (DeliveryState::Waiting, true));
    let in_order: Vec<String> = sqlx::query_scalar(
        "select r.delivery_id from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id order by d.seq",
    )
    .fetch_all(&mut bench.connect().await)
    .await
    .unwrap();
    assert_eq!(in_order, ["two", "three", "one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_duplicates_at_two_nodes_revive_a_delivery_once() {
    for key in [Some("a"), None] {
        let database = fresh_database().await;
        let settings = oncehook::config::Record {
            batch_rows_max: 3,
            batch_bytes_max: 1 << 20,
            queue_max: 100,
            arrivals_kept: 100,
        };
        let nodes = [start_recorder(&database, &settings).await, start_recorder(&database, &settings).await];
        nodes[0].record(event("one", key, "{}")).await.unwrap();
        let mut conn = database.connect().await;
        let bury = "delete from apalis.jobs; delete from oncehook.lanes;
                    update oncehook.deliveries set state = 'dead', finished_at = now(), attempts = 3";
        sqlx::raw_sql(bury).execute(&mut conn).await.unwrap();
        let again = (0..50).map(|number| nodes[number % 2].record(event("one", key, "{}")));
        let results = join_all(again).await;
        let revived = results.into_iter().map(standings).filter(|all| all[0].is_revived).count();
        assert_eq!(revived, 1);
        assert_lane_invariants(&mut conn).await;
        let jobs: i64 = sqlx::query_scalar("select count(*) from apalis.jobs").fetch_one(&mut conn).await.unwrap();
        assert_eq!(jobs, 1);
        let noted: i64 =
            sqlx::query_scalar("select count(*) from oncehook.arrivals").fetch_one(&mut conn).await.unwrap();
        assert_eq!(noted, 50, "every request is noted all the same");
    }
}
