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

use sqlx::PgConnection;

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
    let before = read_whole(&mut tx).await;

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

    assert_eq!(read_whole(&mut tx).await, before);
}

/// How often each table has been read from end to end. PostgreSQL counts what a session did in earlier transactions too, until
/// it has passed that on: so compare with before. `paces` has a row for each route and destination with limits, and `pauses` one for each
/// that is paused, which is less than a page.
async fn read_whole(conn: &mut PgConnection) -> Vec<(String, i64)> {
    let sql = "select relname::text, seq_scan from pg_stat_xact_user_tables
               where seq_scan > 0 and relname not in ('paces', 'pauses') order by 1";
    sqlx::query_as(sql).fetch_all(conn).await.unwrap()
}

/// Rows of deliveries that a turn of this lane reads.
async fn rows_read(bench: &Bench, key: &str) -> i64 {
    let job = sqlx::query_scalar::<_, String>("select job_id from oncehook.lanes where ordering_key = $1").bind(key);
    let job: JobId = job.fetch_one(bench.pool()).await.unwrap().parse().unwrap();
    let work = Work::Lane(lane(key));
    let (known, lease, rules) = (["deployer".to_owned()], Duration::from_secs(30), serde_json::Value::Null);
    let asking =
        Asking { job, work: &work, worker: "host/1/w", lease, destinations: &known, rules: &rules, may_run: true };
    let mut tx = bench.pool().begin().await.unwrap();
    let read = "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
                where relid = 'oncehook.deliveries'::regclass";
    let before: i64 = sqlx::query_scalar(read).fetch_one(&mut *tx).await.unwrap();
    assert!(matches!(next_turn(&mut tx, &asking).await.unwrap(), Turn::Run(_)));
    sqlx::query_scalar::<_, i64>(read).fetch_one(&mut *tx).await.unwrap() - before
}

#[tokio::test]
async fn a_claim_reads_no_more_rows_with_50_000_waiting_in_its_lane_than_with_50() {
    let bench = Bench::new().await;
    for sql in [BACKLOG, LANES, "analyze"] {
        bench.run_sql(sql).await;
    }
    let (deep, short) = (rows_read(&bench, "lane 0").await, rows_read(&bench, "lane 1").await);
    assert!(deep <= short && short < 10, "{deep} rows against {short}");
}
