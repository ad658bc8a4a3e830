//! Any number of processes may bring a database up to date, as its owner; and what we rely on in apalis' schema is there.

use oncehook::{
    config,
    store::{
        StoreError, boot_check,
        connect::{connect, options_of_url},
        migrate::{MigrateError, migrate},
    },
};
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, postgres::PgConnectOptions};

use crate::support::cluster::{empty_database, fresh_database};

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}

async fn strings(connection: &mut PgConnection, sql: &str) -> Vec<String> {
    sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(connection).await.unwrap()
}

fn settings() -> config::Database {
    let acquire_timeout = std::time::Duration::from_secs(5);
    config::Database { url: None, connections_max: 2, acquire_timeout }
}

#[tokio::test]
async fn migrators_at_the_same_time_make_one_schema() {
    let database = empty_database().await;
    let options = &database.options;
    let results = tokio::join!(migrate(options), migrate(options), migrate(options), migrate(options));
    for result in [results.0, results.1, results.2, results.3] {
        result.unwrap();
    }
    let mut connection = database.connect().await;
    let applied =
        strings(&mut connection, "select m.version::text from oncehook._sqlx_migrations m order by m.version").await;
    assert_eq!(applied[..2], ["1", "2"]);
    migrate(options).await.expect("a second time changes nothing");
}

#[tokio::test]
async fn the_owner_of_a_database_may_migrate_it_without_being_a_superuser() {
    let database = empty_database().await;
    let mut admin = database.connect().await;
    let role = format!("owner_{}", std::process::id());
    let name = database.options.get_database().unwrap();
    run(&mut admin, &format!("drop role if exists {role}; create role {role} login")).await;
    let as_role = database.options.clone().username(&role);
    let denied = migrate(&as_role).await.unwrap_err();
    assert!(matches!(&denied, MigrateError::Denied { .. }), "{denied}");
    assert!(denied.to_string().contains(&format!("alter database {name} owner to {role}")), "{denied}");

    run(&mut admin, &format!("alter database {name} owner to {role}")).await;
    migrate(&as_role).await.unwrap();
    let mut owner = as_role.connect().await.unwrap();
    boot_check::run(&mut owner).await.unwrap();
    run(&mut owner, "insert into apalis.workers (id, worker_type, storage_name) values ('w', 'lane', 's')").await;
    run(&mut admin, &format!("drop owned by {role} cascade; alter database {name} owner to current_user")).await;
    run(&mut admin, &format!("drop role {role}")).await;
}

#[tokio::test]
async fn a_schema_newer_than_this_binary_is_left_alone() {
    let database = fresh_database().await;
    let mut connection = database.connect().await;
    let newer = "insert into oncehook._sqlx_migrations (version, description, success, checksum, execution_time)
                 values (9000, 'from the future', true, '', 0)";
    run(&mut connection, newer).await;
    let error = migrate(&database.options).await.unwrap_err();
    assert!(matches!(error, MigrateError::Newer { schema: "oncehook", version: 9000 }), "{error}");
    assert!(error.to_string().contains("a newer one has been here"), "{error}");
}

#[tokio::test]
async fn a_migration_that_was_changed_after_its_release_is_refused() {
    let database = fresh_database().await;
    run(&mut database.connect().await, "update oncehook._sqlx_migrations set checksum = '\\x00' where version = 1")
        .await;
    let error = migrate(&database.options).await.unwrap_err();
    assert!(matches!(error, MigrateError::Changed { schema: "oncehook", version: 1 }), "{error}");
}

#[tokio::test]
async fn no_time_is_kept_without_its_zone() {
    let database = fresh_database().await;
    let columns = "select table_schema || '.' || table_name || '.' || column_name from information_schema.columns
                   where table_schema in ('oncehook', 'apalis') and data_type = 'timestamp without time zone'";
    assert_eq!(strings(&mut database.connect().await, columns).await, Vec::<String>::new());
}

#[tokio::test]
async fn every_session_commits_durably_and_waits_for_nothing_for_ever() {
    let database = fresh_database().await;
    let name = database.options.get_database().unwrap();
    run(&mut database.connect().await, &format!("alter database {name} set synchronous_commit = off")).await;
    let pool = connect(database.options.clone(), &settings(), "oncehook test").await.unwrap();
    let mut connection = pool.acquire().await.unwrap();
    for (setting, value) in [
        ("synchronous_commit", "on"),
        ("search_path", "public"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "1min"),
        ("application_name", "oncehook test"),
    ] {
        assert_eq!(strings(&mut connection, &format!("show {setting}")).await, [value], "{setting}");
    }
    boot_check::run(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_read_only_database_is_refused() {
    let database = fresh_database().await;
    let name = database.options.get_database().unwrap();
    run(&mut database.connect().await, &format!("alter database {name} set default_transaction_read_only = on")).await;
    let error = boot_check::run(&mut database.connect().await).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_reported_at_once_and_as_what_it_is() {
    let database = fresh_database().await;
    let error = connect(database.options.clone().database("nowhere"), &settings(), "oncehook test").await.unwrap_err();
    assert!(error.to_string().contains(r#"database "nowhere" does not exist"#), "{error}");
    assert!(!error.is_database_away());
    let nobody_listens = PgConnectOptions::new_without_pgpass().socket("/nonexistent");
    let error = connect(nobody_listens, &settings(), "oncehook test").await.unwrap_err();
    assert!(error.is_database_away(), "{error}");
}

#[tokio::test]
async fn the_url_of_a_database_is_read_as_configured() {
    let database = fresh_database().await;
    let options = options_of_url(&database.url().to_owned().into()).unwrap();
    assert_eq!(options.get_database(), database.options.get_database());
    connect(options, &settings(), "oncehook test").await.unwrap();
}

#[tokio::test]
async fn a_malformed_url_is_refused_without_showing_its_password() {
    let url = "postgres://user:canary-password@host:no-port/db".to_owned().into();
    let error = options_of_url(&url).unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }));
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
}

/// The contract with apalis-postgres 1.0.0: our SQL writes and deletes rows of `apalis.jobs`, and replaces `get_jobs`, which
/// apalis calls and whose columns it takes by position.
mod contract_with_apalis {
    use super::*;

    #[tokio::test]
    async fn jobs_have_these_columns_in_this_order() {
        let database = fresh_database().await;
        let columns = "select attname || ' ' || format_type(atttypid, atttypmod) from pg_attribute
                       where attrelid = 'apalis.jobs'::regclass and attnum > 0 and not attisdropped order by attnum";
        let expected = [
            "job bytea",
            "id text",
            "job_type text",
            "status text",
            "attempts integer",
            "max_attempts integer",
            "run_at timestamp with time zone",
            "last_result jsonb",
            "lock_at timestamp with time zone",
            "lock_by text",
            "done_at timestamp with time zone",
            "priority integer",
            "idempotency_key text",
            "metadata hstore",
        ];
        assert_eq!(strings(&mut database.connect().await, columns).await, expected);
    }

    #[tokio::test]
    async fn there_is_one_get_jobs_and_it_is_ours() {
        let database = fresh_database().await;
        let mut connection = database.connect().await;
        let signature = "select pg_get_function_arguments(oid) || ' -> ' || pg_get_function_result(oid) from pg_proc
                         where pronamespace = 'apalis'::regnamespace and proname = 'get_jobs'";
        let expected = "worker_id text, v_job_type text, v_job_count integer DEFAULT 5 -> SETOF apalis.jobs";
        assert_eq!(strings(&mut connection, signature).await, [expected]);
        let body = "select prosrc from pg_proc where oid = 'apalis.get_jobs'::regproc";
        let body = &strings(&mut connection, body).await[0];
        assert!(body.contains("oncehook.now()") && !body.contains(" now()"), "{body}");
    }

    #[tokio::test]
    async fn get_jobs_takes_what_is_due_by_priority_time_and_id_and_nothing_else() {
        let database = fresh_database().await;
        let mut connection = database.connect().await;
        run(
            &mut connection,
            "insert into apalis.workers (id, worker_type, storage_name) values ('w', 'lane', 's');
             insert into apalis.jobs (job, id, job_type, status, attempts, max_attempts, run_at, priority)
             select '', id, kind, status, attempts, 3, '2020-01-01Z'::timestamptz + run_at::interval, priority
             from (values ('e-late',     'lane',  'Pending', 0, '2 s', 0),  ('d-second', 'lane', 'Pending', 0, '1 s', 0),
                          ('c-first',    'lane',  'Pending', 0, '1 s', 0),  ('z-urgent', 'lane', 'Pending', 0, '9 s', 5),
                          ('f-failed',   'lane',  'Failed',  1, '3 s', 0),  ('x-spent',  'lane', 'Failed',  3, '0 s', 0),
                          ('x-other',    'other', 'Pending', 0, '0 s', 0),  ('x-done',   'lane', 'Done',    1, '0 s', 0),
                          ('x-future',   'lane',  'Pending', 0, '900 y', 0),('x-killed', 'lane', 'Killed',  1, '0 s', 0),
                          ('x-running',  'lane',  'Running', 1, '0 s', 0),  ('x-queued', 'lane', 'Queued',  1, '0 s', 0)
                  ) as jobs (id, kind, status, attempts, run_at, priority)",
        )
        .await;
        // One at a time: a set from an UPDATE has no order of its own.
        let mut taken = Vec::new();
        for _ in 0..7 {
            taken.extend(strings(&mut connection, "select id from apalis.get_jobs('w', 'lane', 1)").await);
        }
        assert_eq!(taken, ["z-urgent", "c-first", "d-second", "e-late", "f-failed"]);
        let marked = "select count(*)::text from apalis.jobs where status = 'Queued' and lock_by = 'w'";
        assert_eq!(strings(&mut connection, marked).await, ["5"]);
    }

    #[tokio::test]
    async fn jobs_of_one_moment_are_taken_in_the_order_of_their_ids_by_whatever_plan() {
        let database = fresh_database().await;
        let mut connection = database.connect().await;
        run(
            &mut connection,
            "set enable_indexscan = off; set enable_bitmapscan = off;
             insert into apalis.workers (id, worker_type, storage_name) values ('w', 'lane', 's');
             insert into apalis.jobs (job, id, job_type, run_at)
             select '', lpad((n * 37 % 101)::text, 3, '0'), 'lane', '2020-01-01' from generate_series(1, 100) n",
        )
        .await;
        for expected in ["001", "002", "003", "004", "005"] {
            assert_eq!(strings(&mut connection, "select id from apalis.get_jobs('w', 'lane', 1)").await, [expected]);
        }
    }

    #[tokio::test]
    async fn the_fetch_reads_by_index_however_long_the_backlog() {
        let database = fresh_database().await;
        let mut connection = database.connect().await;
        run(
            &mut connection,
            "insert into apalis.jobs (job, id, job_type, run_at)
             select '', lpad(n::text, 6, '0'), 'lane', '2020-01-01' from generate_series(1, 20000) n;
             insert into apalis.workers (id, worker_type, storage_name) values ('w', 'lane', 's');
             analyze apalis.jobs",
        )
        .await;
        let scans = "select seq_tup_read::text from pg_stat_xact_user_tables where relid = 'apalis.jobs'::regclass";
        let mut tx = sqlx::Connection::begin(&mut connection).await.unwrap();
        let before = strings(&mut tx, scans).await;
        let taken = strings(&mut tx, "select id from apalis.get_jobs('w', 'lane', 10)").await;
        assert_eq!(taken.len(), 10);
        assert_eq!(strings(&mut tx, scans).await, before, "rows read by a scan of the whole table");
    }

    #[tokio::test]
    async fn inserting_a_job_rings_no_bell_in_the_database() {
        let database = fresh_database().await;
        let enabled = "select tgname::text from pg_trigger
                       where tgrelid = 'apalis.jobs'::regclass and not tgisinternal and tgenabled <> 'D'";
        assert_eq!(strings(&mut database.connect().await, enabled).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn no_two_indexes_of_the_queue_say_the_same_save_the_one_a_foreign_key_needs() {
        let database = fresh_database().await;
        let twins = "select a.indexrelid::regclass || ' = ' || b.indexrelid::regclass
                     from pg_index a join pg_index b on a.indrelid = b.indrelid and a.indkey = b.indkey
                      and a.indpred is not distinct from b.indpred and a.indexrelid < b.indexrelid
                     where a.indrelid in ('apalis.jobs'::regclass, 'apalis.workers'::regclass)";
        assert_eq!(
            strings(&mut database.connect().await, twins).await,
            ["apalis.unique_worker_id = apalis.workers_pkey"]
        );
    }
}
