//! What holds between lanes, deliveries and jobs whenever nobody is in a transaction.

use sqlx::PgConnection;

/// Every lane has an unfinished delivery and exactly one job of its own; every unfinished delivery has a lane or a job of its
/// own; no job is left over; attempts are open exactly while their delivery runs.
pub async fn assert_lane_invariants(conn: &mut PgConnection) {
    for (what, sql) in CHECKS {
        let broken: Vec<String> = sqlx::query_scalar(*sql).fetch_all(&mut *conn).await.unwrap();
        assert!(broken.is_empty(), "{what}: {broken:?}");
    }
}

/// Waits until a statement of this database waits for a lock.
pub async fn until_somebody_waits_for_a_lock(conn: &mut PgConnection) {
    let waiting = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *conn).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
}

const CHECKS: &[(&str, &str)] = &[
    (
        "a lane without an unfinished delivery",
        "select route || '/' || ordering_key from oncehook.lanes l where blocked_by is null and not exists (
             select from oncehook.deliveries d
             where d.route = l.route and d.ordering_key = l.ordering_key and d.finished_at is null)",
    ),
    (
        "an unfinished delivery without its lane",
        "select d.id::text from oncehook.deliveries d
         where finished_at is null and ordering_key is not null and not exists (
             select from oncehook.lanes l where d.route = l.route and d.ordering_key = l.ordering_key)",
    ),
    (
        "a lane without a live job",
        "select l.job_id from oncehook.lanes l where (l.blocked_by is null or exists (
                 select from oncehook.deliveries d where d.route = l.route and d.ordering_key = l.ordering_key
                   and d.finished_at is null and d.purpose = 'compensate')) and not exists (
             select from apalis.jobs j where j.id = l.job_id and j.status in ('Pending', 'Queued', 'Running', 'Failed'))",
    ),
    (
        "a lane that waits for a delivery which is not dead",
        "select route || '/' || ordering_key from oncehook.lanes l where blocked_by is not null and not exists (
             select from oncehook.deliveries d where d.id = l.blocked_by and d.state = 'dead')",
    ),
    (
        "a delivery without a lane and without a live job",
        "select d.id::text from oncehook.deliveries d
         where finished_at is null and ordering_key is null and not exists (
             select from apalis.jobs j where j.id = d.job_id and j.status in ('Pending', 'Queued', 'Running', 'Failed'))",
    ),
    (
        "a job that nobody owns",
        "select j.id || ' ' || j.status || ' ' || convert_from(j.job, 'utf8') from apalis.jobs j
         where j.status <> 'Done'
           and not exists (select from oncehook.lanes l where l.job_id = j.id)
           and not exists (select from oncehook.deliveries d where d.job_id = j.id and d.finished_at is null)",
    ),
    (
        "an attempt that is open although its delivery does not run, or the other way round",
        "select d.id::text from oncehook.deliveries d
         left join oncehook.attempts a on a.delivery = d.id and a.finished_at is null
         where (d.state = 'running') <> (a.id is not null) or (a.id is not null and a.number <> d.attempts)",
    ),
    (
        "two deliveries of a lane that run at once",
        "select route || '/' || ordering_key from oncehook.deliveries
         where state = 'running' and ordering_key is not null group by route, ordering_key having count(*) > 1",
    ),
];
