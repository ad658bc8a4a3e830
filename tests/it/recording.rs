//! Recording: what stands in one batch is one transaction, what is wrong with one request is not the others' fault, and
//! what is answered is committed (promises P1, P2, P8).

use oncehook::domain::NewReceipt;

use crate::support::{
    app::TestApp,
    cluster,
    invariants::assert_lane_invariants,
    recorders::{RecordBench, event, refuse, word},
};

fn words(results: &[Result<oncehook::domain::Arrival, oncehook::record::RecordError>]) -> Vec<&'static str> {
    results.iter().map(word).collect()
}

fn events(count: usize) -> Vec<NewReceipt> {
    (0..count).map(|n| event(&format!("evt_{n}"), Some(["a", "b", "c"][n % 3]), "{}")).collect()
}

/// Promise P2.
#[tokio::test]
async fn a_receipt_its_deliveries_and_their_jobs_are_made_by_one_transaction() {
    let bench = RecordBench::new().await;
    let mut with_lane = event("evt_1", Some("a"), "{}");
    let without_lane = event("evt_2", None, "{}").deliveries.remove(0);
    with_lane.deliveries.push(oncehook::domain::PlannedDelivery { route: "other".parse().unwrap(), ..without_lane });
    assert_eq!(words(&bench.record_together(vec![with_lane]).await), ["accepted"]);
    let rows = "with made as (
            select 'receipt', xmin::text x from oncehook.receipts union all select 'payload', xmin::text from oncehook.payloads
            union all select 'lane', xmin::text from oncehook.lanes
            union all select 'delivery', xmin::text from oncehook.deliveries
            union all select 'job', xmin::text from apalis.jobs)
        select count(*) * 100 + count(distinct x) from made";
    assert_eq!(bench.count(rows).await, 701, "seven rows, of one transaction");
    assert_lane_invariants(&mut bench.connect().await).await;
}

#[tokio::test]
async fn requests_that_wait_together_share_one_transaction() {
    let bench = RecordBench::new().await;
    assert_eq!(words(&bench.record_together(events(20)).await), ["accepted"; 20]);
    assert_eq!(bench.count("select count(distinct xmin::text) from oncehook.receipts").await, 1);
    assert_lane_invariants(&mut bench.connect().await).await;
}

#[tokio::test]
async fn a_batch_keeps_within_its_bounds_of_rows_and_bytes() {
    const TRANSACTIONS: &str = "select count(distinct xmin::text) from oncehook.receipts";
    let bench = RecordBench::with(|record| record.batch_rows_max = 8).await;
    assert_eq!(words(&bench.record_together(events(20)).await), ["accepted"; 20]);
    assert_eq!(bench.count(TRANSACTIONS).await, 3, "8, 8 and 4");

    let bench = RecordBench::with(|record| record.batch_bytes_max = 100).await;
    let sizes = [60, 40, 1, 101, 50, 50];
    let sized = sizes.iter().enumerate().map(|(n, bytes)| event(&format!("evt_{n}"), None, &"x".repeat(*bytes)));
    assert_eq!(words(&bench.record_together(sized.collect()).await), ["accepted"; 6]);
    assert_eq!(bench.count(TRANSACTIONS).await, 4, "60 + 40, 1, the large one alone, 50 + 50");
}

/// A lone request waits for nobody: there is no clock in what decides about a batch.
#[tokio::test]
async fn a_lone_request_is_committed_without_a_timer() {
    let bench = RecordBench::new().await;
    assert_eq!(words(&bench.record_together(events(1)).await), ["accepted"]);
    let source = include_str!("../../src/record/batch.rs");
    for word in ["time", "sleep", "interval", "Instant", "Duration"] {
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        assert!(!code.clone().any(|line| line.contains(word)), "batch.rs speaks of {word}");
    }
}

#[tokio::test]
async fn a_request_that_the_database_refuses_does_not_fail_its_batch_mates() {
    for at_commit in [false, true] {
        let bench = RecordBench::new().await;
        bench.run_sql(&refuse("evt_7", at_commit)).await;
        let results = words(&bench.record_together(events(20)).await);
        let expected: Vec<_> = (0..20).map(|n| if n == 7 { "refused" } else { "accepted" }).collect();
        assert_eq!(results, expected);
        assert_eq!(bench.count("select count(*) from oncehook.receipts").await, 19);
        assert_eq!(bench.count("select count(*) from oncehook.deliveries").await, 19);
        let in_order = "select count(*) from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
            join oncehook.deliveries e on e.ordering_key = d.ordering_key and e.seq > d.seq
            join oncehook.receipts s on s.id = e.receipt_id
            where substr(s.delivery_id, 5)::int < substr(r.delivery_id, 5)::int";
        assert_eq!(bench.count(in_order).await, 0, "one by one is still in order");
        assert_lane_invariants(&mut bench.connect().await).await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_duplicate_does_not_fail_the_new_events_beside_it() {
    // An ordinary refusal, and a full disk, which is no fault of the statement and waited for.
    for (code, outcome) in [("P0001", "refused"), ("53100", "unavailable")] {
        let bench = RecordBench::new().await;
        bench.record_together(events(2)).await;
        let refuse = format!(
            "create function refuse() returns trigger language plpgsql as
                 $$ begin raise 'refused by the test' using errcode = '{code}'; end $$;
             create trigger refuse before insert on oncehook.arrivals for each row execute function refuse()"
        );
        bench.run_sql(&refuse).await;
        assert_eq!(words(&bench.record_together(events(4)).await), [outcome, outcome, "accepted", "accepted"]);
        let transactions = "select count(distinct xmin::text) from oncehook.receipts where delivery_id > 'evt_1'";
        assert_eq!(bench.count(transactions).await, 1, "the new ones were not recorded one by one");
    }
}

/// Promise P1, over HTTP: the commit itself fails.
#[tokio::test]
async fn an_event_whose_commit_fails_is_answered_503_and_nothing_of_it_is_stored() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let mut conn = app.database().await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(refuse("doomed", true))).execute(&mut conn).await.unwrap();
    let reply = letter.clone().id("doomed").send().await;
    assert_eq!((reply.status, &*reply.text_of("type")), (503, "urn:oncehook:problem:refused-by-database"));
    assert!(reply.headers.contains_key("retry-after"));
    let rows = "select (select count(*) from oncehook.receipts) + (select count(*) from oncehook.payloads)
        + (select count(*) from oncehook.deliveries) + (select count(*) from oncehook.lanes)
        + (select count(*) from apalis.jobs)";
    assert_eq!(app.count(rows).await, 0);
    assert_eq!(app.run_until_idle().await, 0, "nothing is there to be run");

    sqlx::raw_sql("drop trigger refuse on oncehook.receipts").execute(&mut conn).await.unwrap();
    let reply = letter.id("doomed").send().await;
    assert_eq!((reply.status, &*reply.text_of("status")), (200, "accepted"));
    app.run_until_idle().await;
}

/// Promise P1: a database-wide setting does not weaken the sessions that record.
#[tokio::test]
async fn receipts_are_committed_durably_whatever_the_database_is_set_to() {
    let database = cluster::fresh_database().await;
    let weaken = "create schema oncehook_test2;
        create table oncehook_test2.seen (synchronous_commit text, zone text);
        create function oncehook_test2.look() returns trigger language plpgsql as $$ begin
            insert into oncehook_test2.seen
            values (current_setting('synchronous_commit'), current_setting('timezone'));
            return new;
        end $$;
        create trigger look before insert on oncehook.receipts for each row execute function oncehook_test2.look();
        create trigger look before insert on oncehook.arrivals for each row execute function oncehook_test2.look();
        do $$ begin
            execute format('alter database %I set synchronous_commit = off', current_database());
        end $$";
    sqlx::raw_sql(weaken).execute(&mut database.connect().await).await.unwrap();
    let app = TestApp::start_in(database, "").await;
    assert_eq!(
        app.count("select count(*) from pg_settings where name = 'synchronous_commit' and setting = 'off'").await,
        1
    );
    let letter = app.sender().push("main");
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    assert_eq!(letter.send().await.text_of("status"), "duplicate");
    assert_eq!(app.count("select count(*) from oncehook_test2.seen where synchronous_commit = 'on'").await, 2);
    assert_eq!(app.count("select count(*) from oncehook_test2.seen").await, 2);
    app.run_until_idle().await;
}

/// B100: zones and date styles of the server are nobody's business.
#[tokio::test]
async fn what_is_stored_does_not_depend_on_the_servers_time_zone() {
    let database = cluster::fresh_database().await;
    let travel = "do $$ begin
            execute format('alter database %I set timezone = ''America/St_Johns''', current_database());
            execute format('alter database %I set datestyle = ''SQL, DMY''', current_database());
            execute format('alter database %I set intervalstyle = ''sql_standard''', current_database());
        end $$";
    sqlx::raw_sql(travel).execute(&mut database.connect().await).await.unwrap();
    let app = TestApp::start_in(database, "").await;
    let before = app.clock().now();
    let body = serde_json::json!({ "id": "evt_1", "type": "invoice.paid", "created": 1_700_000_000,
                                   "data": { "object": { "id": "in_1" } } });
    let letter = app.sender().stripe(&body);
    let signature = letter.lines().into_iter().find(|(name, _)| name == "stripe-signature").unwrap().1;
    let signed_at: i64 = String::from_utf8(signature).unwrap()[2..12].parse().unwrap();
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    assert_eq!(letter.send().await.text_of("first_received_at").len(), "2026-01-01T00:00:00.000000Z".len());
    app.run_until_idle().await;
    let times: Vec<(String, chrono::DateTime<chrono::Utc>)> = sqlx::query_as(
        "select 'event', event_time from oncehook.receipts union all select 'signed', signed_at from oncehook.receipts
         union all select 'received', received_at from oncehook.receipts
         union all select 'recorded', recorded_at from oncehook.receipts
         union all select 'arrived', arrived_at from oncehook.arrivals
         union all select 'finished', finished_at from oncehook.deliveries",
    )
    .fetch_all(&mut app.database().await)
    .await
    .unwrap();
    assert_eq!(times.len(), 6);
    let after = app.clock().now();
    for (what, at) in times {
        match &*what {
            "event" => assert_eq!(at.timestamp(), 1_700_000_000),
            // Signed by the whole second.
            "signed" => assert_eq!(at.timestamp(), signed_at),
            _ => assert!(before <= at && at <= after, "{what}: {at} is not between {before} and {after}"),
        }
    }
}

/// Promise P8.
#[tokio::test]
async fn nothing_unauthenticated_reaches_the_database() {
    let (app, wire) = TestApp::start_behind_wire("").await;
    let sender = app.sender();
    let genuine = sender.push("main");
    assert_eq!(genuine.send().await.status, 200);
    app.run_until_idle().await;
    let later = chrono::TimeDelta::hours(-1);
    let forged = [
        genuine.clone().unsigned(),
        genuine.clone().signed_with("another-secret-0123"),
        genuine.clone().signed_over("other bytes"),
        sender.stripe(&serde_json::json!({ "id": "evt_1" })).unsigned(),
        sender.stripe(&serde_json::json!({ "id": "evt_1" })).signed_later(later),
        sender.standard("{}").unsigned(),
        sender.standard("{}").signed_over("{ }"),
        sender.standard("{}").signed_later(later),
    ];
    for letter in &forged {
        assert_eq!(letter.send().await.status, 401);
    }
    let rows = "select (select count(*) from oncehook.receipts) + (select count(*) from oncehook.arrivals)
        + (select count(*) from oncehook.conflicts) + (select count(*) from oncehook.payloads)
        + (select count(*) from oncehook.deliveries) + (select count(*) from apalis.jobs where status <> 'Done')";
    assert_eq!(app.count(rows).await, 3, "the receipt, its payload and its delivery");

    // Without a database they are answered all the same, while one that is genuine is not.
    wire.take_down();
    for letter in &forged {
        assert_eq!(letter.send().await.status, 401);
    }
    assert_eq!(genuine.send().await.status, 503);
    wire.mend();
    assert_eq!(genuine.send().await.text_of("status"), "duplicate");
}
