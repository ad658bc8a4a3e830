//! The statements of the hot path find their rows by index however much is waiting. The functions themselves are run, and
//! PostgreSQL's own counters of this transaction tell whether a table was read from end to end.

use std::time::Duration;

use oncehook::{
    domain::{DeliveryState, JobId, OutcomeClass},
    store::{
        deliveries::{Claimed, Settlement, claim_head, renew_lease, settle_delivery, take_back},
        instances::{end_leases, release_jobs},
        jobs::{RunAt, due_jobs},
        lanes::{LaneView, bring_lane_forward, delete_lane_if_empty, lock_lane, lock_lane_head, replace_lane_job},
    },
};

use crate::support::{
    bench::{Bench, lane},
    script::outcome,
};

/// 100,000 attempts of earlier deliveries.
const ATTEMPTS: &str = "
    insert into oncehook.attempts (id, delivery, number, trigger, worker, finished_at, outcome)
    select gen_random_uuid(), gen_random_uuid(), 1, 'automatic', 'w', now(), 'succeeded' from generate_series(1, 100000)";
/// 100,000 deliveries wait in 1,000 lanes, of which one is deep.
const BACKLOG: &str = "
    with r as (insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest,
                                              normalised_digest, body_bytes)
               select gen_random_uuid(), 'github', n::text, 'push', now(), sha256(''), sha256(''), 2
               from generate_series(1, 100000) n returning id, delivery_id),
         p as (insert into oncehook.payloads (receipt_id, headers, body) select id, '', '{}' from r)
    insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state)
    select gen_random_uuid(), id, 'deploy', 'deployer',
           'lane ' || case when delivery_id::int % 2 = 0 then 0 else delivery_id::int % 1000 end, 'waiting' from r";
const LANES: &str = "insert into oncehook.lanes (route, ordering_key, job_id)
    select 'deploy', k, '01ARZ3NDEKTSV4RRFF' || lpad(row_number() over ()::text, 8, '0')
    from (select distinct ordering_key k from oncehook.deliveries) k";
const JOBS: &str = "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
    select job_id, 'oncehook', ''::bytea, 'Pending', 0, 1000000, now() - interval '1 s', 0 from oncehook.lanes
    union all
    select 'job ' || n, 'oncehook', ''::bytea, 'Pending', 0, 1000000, now() + interval '1 h', 0 from generate_series(1, 100000) n";

#[tokio::test]
async fn the_hot_path_reads_no_table_from_end_to_end() {
    let bench = Bench::new().await;
    for sql in [ATTEMPTS, BACKLOG, LANES, JOBS, "analyze"] {
        bench.run_sql(sql).await;
    }
    let job: JobId = sqlx::query_scalar::<_, String>("select job_id from oncehook.lanes where ordering_key = 'lane 0'")
        .fetch_one(bench.pool())
        .await
        .unwrap()
        .parse()
        .unwrap();
    let lane = lane("lane 0");
    let lease = Duration::from_secs(30);
    let mut tx = bench.pool().begin().await.unwrap();

    // Many times over, as a worker does: PostgreSQL changes to a generic plan after five.
    for _ in 0..8 {
        let LaneView::Head(head) = lock_lane_head(&mut tx, &lane, job).await.unwrap() else { panic!("no head") };
        let Claimed::Whole(claim) = claim_head(&mut tx, &head, "host/1/w", lease).await.unwrap() else { panic!() };
        assert!(renew_lease(&mut tx, &claim.lease, lease).await.unwrap());
        let end = Settlement {
            state: DeliveryState::Succeeded,
            delay: Duration::ZERO,
            outcome: outcome(OutcomeClass::Succeeded, "taken"),
            took: Duration::ZERO,
        };
        assert!(settle_delivery(&mut tx, &claim.lease, &end).await.unwrap());
        assert_eq!(due_jobs(&mut tx, 10).await.unwrap().len(), 10);
        assert_eq!(end_leases(&mut tx, "host/1/").await.unwrap(), 0);
        assert_eq!(release_jobs(&mut tx, "host/1/").await.unwrap(), 0);
    }
    let LaneView::Head(head) = lock_lane_head(&mut tx, &lane, job).await.unwrap() else { panic!("no head") };
    assert_eq!(take_back(&mut tx, &head, 3).await.unwrap(), None);
    assert!(lock_lane(&mut tx, &lane, job).await.unwrap());
    assert!(!delete_lane_if_empty(&mut tx, &lane, job).await.unwrap());
    let fresh = JobId::new();
    assert!(replace_lane_job(&mut tx, &lane, &job.to_string(), fresh, RunAt::After(lease)).await.unwrap());
    bring_lane_forward(&mut tx, &lane).await.unwrap();

    let read_whole: Vec<(String, i64)> =
        sqlx::query_as("select relname::text, seq_scan from pg_stat_xact_user_tables where seq_scan > 0 order by 1")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    assert_eq!(read_whole, []);
}
