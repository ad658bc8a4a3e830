//! B059: the statements of recording find their rows by index, whatever PostgreSQL knows about the batch when it plans.

use oncehook::{
    domain::NewReceipt,
    store::{
        connect::for_recording,
        record_new::record_new,
        record_seen_before::{classify_seen_before, delivery_states, record_seen_before},
    },
};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

use crate::support::{cluster::fresh_database, recorders::event};

/// 100,000 receipts, a delivery and two arrivals each, in 20,000 open lanes.
const HISTORY: &str = "
    with r as (insert into oncehook.receipts (id, source, delivery_id, event_type, received_at, body_digest,
                                              normalised_digest, body_bytes)
               select gen_random_uuid(), 'github', 'evt_' || n, 'push', now(), sha256(''), sha256(''), 2
               from generate_series(1, 100000) n returning id, delivery_id),
         a as (insert into oncehook.arrivals (receipt_id, kind, arrived_at, body_digest)
               select id, 'duplicate', now(), sha256('') from r, generate_series(1, 2)),
         l as (insert into oncehook.lanes (route, ordering_key, job_id)
               select 'deploy', 'lane ' || n, 'job ' || n from generate_series(0, 19999) n),
         c as (insert into oncehook.conflicts (receipt_id, arrived_at, event_type, body_digest, normalised_digest, headers, body)
               select id, now(), 'push', sha256('c'), sha256('c'), '', '' from r)
    insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state)
    select gen_random_uuid(), id, 'deploy', 'deployer', 'lane ' || substr(delivery_id, 5)::int % 20000, 'waiting' from r;
    analyze";

/// Half of them new, a quarter duplicates, a quarter conflicts.
fn batch(size: usize, round: usize) -> Vec<NewReceipt> {
    let one = |n: usize| {
        let lane = format!("lane {}", n * 7);
        match n % 4 {
            0 | 1 => event(&format!("new_{size}_{round}_{n}"), Some(&lane), "{}"),
            2 => event(&format!("evt_{}", 1 + n * 300), Some(&lane), ""),
            _ => event(&format!("evt_{}", 1 + n * 300), Some(&lane), "another"),
        }
    };
    (0..size).map(one).collect()
}

async fn record(conn: &mut PgConnection, events: &[NewReceipt], arrivals_kept: i32) {
    let all: Vec<_> = events.iter().collect();
    let stored = record_new(conn, &all).await.unwrap().stored;
    assert_eq!(stored.len(), events.iter().filter(|event| event.delivery_id.as_str().starts_with("new")).count());
    let rest: Vec<_> = all.into_iter().filter(|event| !stored.contains(&event.id)).collect();
    let seen = classify_seen_before(conn, &rest).await.unwrap();
    assert_eq!(seen.len(), rest.len());
    let receipts: Vec<_> = seen.iter().map(|classified| classified.receipt).collect();
    delivery_states(conn, &receipts).await.unwrap();
    let with_request: Vec<_> = seen.iter().map(|classified| (classified, rest[classified.place])).collect();
    record_seen_before(conn, &with_request, arrivals_kept).await.unwrap();
}

#[tokio::test]
async fn recording_reads_no_table_from_end_to_end() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    sqlx::raw_sql(HISTORY).execute(&mut conn).await.unwrap();
    for mode in ["force_generic_plan", "force_custom_plan", "auto"] {
        for (size, arrivals_kept) in [(4, 100), (256, 100), (256, 2)] {
            // A session of its own, so that no plan is left from before.
            let mut conn = database.connect().await;
            sqlx::query(sqlx::AssertSqlSafe(format!("set plan_cache_mode = {mode}"))).execute(&mut conn).await.unwrap();
            let mut tx = conn.begin().await.unwrap();
            for round in 0..if mode == "auto" { 7 } else { 1 } {
                record(&mut tx, &batch(size, round), arrivals_kept).await;
            }
            let read_whole: Vec<(String, i64)> = sqlx::query_as(
                "select relname::text, seq_scan from pg_stat_xact_user_tables where seq_scan > 0 order by 1",
            )
            .fetch_all(&mut *tx)
            .await
            .unwrap();
            assert_eq!(read_whole, [], "{mode}, {size} requests, {arrivals_kept} arrivals kept");
            tx.rollback().await.unwrap();
        }
    }
}

/// The first minute of an appliance: nothing is analysed yet, and the plans were made when the tables were empty.
#[tokio::test]
async fn recording_stays_on_the_indices_while_empty_tables_grow() {
    let database = fresh_database().await;
    let mut conn = for_recording(database.options.clone()).connect().await.unwrap();
    let mut tx = conn.begin().await.unwrap();
    for round in 0..12 {
        let events: Vec<_> = (0..100).map(|n| event(&format!("new_{round}_{n}"), Some("lane"), "{}")).collect();
        record(&mut tx, &events, 100).await;
        let again: Vec<_> = events.iter().collect();
        let seen = classify_seen_before(&mut tx, &again).await.unwrap();
        delivery_states(&mut tx, &seen.iter().map(|one| one.receipt).collect::<Vec<_>>()).await.unwrap();
        let with_request: Vec<_> = seen.iter().map(|one| (one, again[one.place])).collect();
        record_seen_before(&mut tx, &with_request, 100).await.unwrap();
    }
    let read: Vec<(String, i64)> = sqlx::query_as(
        "select relname::text, seq_tup_read from pg_stat_xact_user_tables where seq_tup_read > 0 order by 1",
    )
    .fetch_all(&mut *tx)
    .await
    .unwrap();
    assert_eq!(read, [], "rows were read from end to end");
}
