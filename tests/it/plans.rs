//! The statements of the hot path find their rows by index however much is waiting. The functions themselves are run, and
//! PostgreSQL's own counters of this transaction tell whether a table was read from end to end.

use std::time::Duration;

use oncehook::{
    domain::JobId,
    store::{
        deliveries::{LastWords, renew_lease, take_back},
        instances::{end_leases, release_jobs},
        jobs::{RunAt, Work, due_jobs},
        lanes::{bring_lane_forward, replace_lane_job},
        turns::{Asking, Turn, next_turn, settle_and_next_turn},
    },
};

use crate::support::{
    bench::{Bench, lane},
    script::success,
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
    let work = Work::Lane(lane.clone());
    let known = ["deployer".to_owned()];
    let words = LastWords { blocks: false, compensation: None };
    // As a route with order = "event" and limits asks, which is the longest way.
    let rules = serde_json::json!({
        "destinations": { "deployer": { "concurrency": 4, "every": 0 } },
        "routes": { "deploy": { "concurrency": 4, "skip_stale": true } },
    });
    let mut asking =
        Asking { job, work: &work, worker: "host/1/w", lease, destinations: &known, rules: &rules, may_run: true };
    let mut tx = bench.pool().begin().await.unwrap();

    // Many times over, as a worker does: PostgreSQL changes to a generic plan after five.
    let mut turn = next_turn(&mut tx, &asking).await.unwrap();
    for _ in 0..8 {
        let Turn::Run(claim) = turn else { panic!("a turn was expected, not {turn:?}") };
        assert!(renew_lease(&mut tx, &claim.lease, lease).await.unwrap());
        assert_eq!(take_back(&mut tx, claim.lease.delivery, claim.lease.token, 3, &words).await.unwrap(), None);
        turn = settle_and_next_turn(&mut tx, &claim.lease, &success(), &asking).await.unwrap().unwrap();
        assert_eq!(due_jobs(&mut tx, 10).await.unwrap().len(), 10);
        assert_eq!(end_leases(&mut tx, "host/2/").await.unwrap(), 0);
        assert_eq!(release_jobs(&mut tx, "host/2/").await.unwrap(), 0);
    }
    asking.may_run = false;
    assert!(matches!(next_turn(&mut tx, &asking).await.unwrap(), Turn::More), "the lane does not retire");
    assert!(replace_lane_job(&mut tx, &lane, &job.to_string(), JobId::new(), RunAt::After(lease)).await.unwrap());
    bring_lane_forward(&mut tx, &lane).await.unwrap();

    // `paces` has a row for each route and destination with limits, which is less than a page.
    let read_whole: Vec<(String, i64)> =
        sqlx::query_as("select relname::text, seq_scan from pg_stat_xact_user_tables where seq_scan > 0 and relname <> 'paces' order by 1")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    assert_eq!(read_whole, []);
}
