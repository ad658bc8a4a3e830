//! Destinations of kind "sql": the effect and the delivery's end are one commit, under a role of the function's own.

use chrono::TimeDelta;
use serde_json::json;

use crate::support::ledger::{Billing, CONFIG, INSERT, ROLE, teach_form};

#[tokio::test]
async fn a_function_gets_the_receipt_and_the_payload_and_its_delivery_succeeds() {
    let mut billing =
        Billing::with("insert into entries (payload) values (receipt || jsonb_build_object('got', payload));").await;
    let reply = billing.deliver(r#"{"type":"invoice.paid","timestamp":"2026-01-02T03:04:05Z","data":{"id":7}}"#).await;
    assert_eq!(billing.end().await.0, "succeeded/succeeded");
    let told: serde_json::Value =
        sqlx::query_scalar("select payload from billing.entries").fetch_one(&mut billing.conn).await.unwrap();
    assert_eq!(told["receipt"], reply.text_of("receipt"));
    assert!(told["delivery"].as_str().unwrap().starts_with("dlv_"), "{told}");
    assert_eq!(told["got"]["data"], json!({ "id": 7 }));
    for (name, value) in [
        ("event_type", json!("invoice.paid")),
        ("source", json!("standard")),
        ("attempt", json!(1)),
        ("is_stale", json!(false)),
    ] {
        assert_eq!(told[name], value, "{name}");
    }
    assert_eq!(told["headers"]["webhook-id"], told["delivery_id"]);
    for name in ["ordering_key", "event_time", "received_at"] {
        assert!(told.get(name).is_some(), "{name}: {told}");
    }
}

#[tokio::test]
async fn a_failure_after_the_marker_and_before_the_effect_rolls_both_back_and_leaves_the_delivery_eligible() {
    let mut billing = Billing::with(
        "insert into entries (note) values ('marker'); raise exception 'the effect failed' using errcode = 'P0042';",
    )
    .await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!(end, "retrying/failed");
    assert!(reason.contains("P0042") && reason.contains("the effect failed"), "{reason}");
    assert_eq!(billing.entries().await, 0, "what it had done before is undone");
    billing.teach(INSERT).await;
    billing.app.advance(TimeDelta::hours(1)).await;
    billing.app.run_until_idle().await;
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1));
    assert_eq!(
        billing.text("select string_agg(outcome, ', ' order by number) from oncehook.attempts").await,
        "failed, succeeded"
    );
}

#[tokio::test]
async fn a_function_rejects_a_delivery_for_good_with_a_code_of_its_own() {
    let mut billing = Billing::with(
        "insert into entries (note) values ('x'); raise exception 'no such customer' using errcode = 'OH001';",
    )
    .await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!(end, "dead/rejected");
    assert!(reason.contains("no such customer"), "{reason}");
    assert_eq!(billing.entries().await, 0);
}

#[tokio::test]
async fn a_function_that_takes_too_long_is_ended_and_undone() {
    let config = CONFIG.replace("20s", "50ms");
    let mut billing = Billing::from(&config, "insert into entries (note) values ('x'); perform pg_sleep(3600);").await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!((end.as_str(), billing.entries().await), ("retrying/failed", 0));
    assert!(reason.contains("57014") && reason.contains("`timeout`"), "{reason}");
    billing.app.may_leave_work();
}

#[tokio::test]
async fn a_deferred_constraint_fails_inside_of_the_effect_and_not_at_the_commit() {
    let mut billing = Billing::with(
        "insert into entries (note) values ('x'); insert into charges values (1);
         insert into charges values ((select count(*) from charges));",
    )
    .await;
    billing
        .run(&format!(
            "create table billing.charges (id int unique deferrable initially deferred);
             grant select, insert on billing.charges to {ROLE};"
        ))
        .await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!(end, "retrying/failed");
    assert!(reason.contains("23505") && reason.contains("charges_id_key"), "{reason}");
    assert_eq!(billing.entries().await, 0);
    billing.app.may_leave_work();
}

#[tokio::test]
async fn a_deferred_trigger_runs_as_the_functions_role_and_not_as_oncehook() {
    let mut billing = Billing::with(INSERT).await;
    billing
        .run(
            "create table billing.seen (who text); alter table billing.seen owner to oncehook_test_writer;
             create function billing.note() returns trigger language plpgsql as $$ begin
                 insert into billing.seen values (current_user); return null; end $$;
             create constraint trigger note after insert on billing.entries deferrable initially deferred
                 for each row execute function billing.note();",
        )
        .await;
    billing.deliver("{}").await;
    assert_eq!(billing.end().await.0, "succeeded/succeeded");
    assert_eq!(billing.text("select who from billing.seen").await, ROLE);
}

#[tokio::test]
async fn a_function_cannot_commit_by_itself() {
    for statement in ["commit;", "rollback;"] {
        let mut billing = Billing::with(&format!("insert into entries (note) values ('x'); {statement}")).await;
        billing.deliver("{}").await;
        let (end, reason) = billing.end().await;
        assert_eq!(end, "dead/rejected");
        assert!(reason.contains("tried to commit or roll back"), "{reason}");
        assert_eq!(billing.entries().await, 0);
    }
}

#[tokio::test]
async fn a_function_runs_as_its_role_and_may_do_no_more_than_that() {
    let mut billing = Billing::with("insert into entries (note) values (current_user);").await;
    billing.deliver("{}").await;
    assert_eq!(billing.text("select note from billing.entries").await, ROLE);
    for table in ["receipts", "payloads", "deliveries", "attempts"] {
        billing.teach(&format!("perform from oncehook.{table};")).await;
        billing.deliver("{}").await;
        let (end, reason) = billing.end().await;
        assert_eq!(end, "retrying/failed");
        assert!(reason.contains("42501") && reason.contains("permission denied"), "{reason}");
    }
    billing.app.may_leave_work();
}

#[tokio::test]
async fn a_function_finds_things_in_its_search_path_and_temporary_ones_last() {
    let mut billing = Billing::with("insert into entries (note) values (current_setting('search_path'));").await;
    billing.deliver("{}").await;
    assert_eq!(billing.text("select note from billing.entries").await, "billing, pg_temp");
    billing.teach("create temp table entries (note text); insert into entries (note) values ('the real one');").await;
    // More than there are connections, so that one gets a second delivery.
    for _ in 0..12 {
        billing.deliver("{}").await;
    }
    assert_eq!(billing.end().await.0, "succeeded/succeeded", "the temporary table went with its delivery");
    assert_eq!(billing.entries().await, 13);
}

#[tokio::test]
async fn what_a_function_does_to_its_session_does_not_reach_the_next_delivery() {
    let mut billing = Billing::with("").await;
    billing.teach(
        "insert into entries (note) values (concat_ws(' ', current_user, current_setting('search_path'),
             current_setting('synchronous_commit'), current_setting('work_mem'), coalesce(nullif(current_setting('app.x', true), ''), '-'),
             (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())));
         perform set_config('search_path', 'oncehook', false), set_config('synchronous_commit', 'off', false),
             set_config('work_mem', '1MB', false), set_config('app.x', 'leaked', false), pg_advisory_lock(7),
             set_config('role', 'none', false);",
    )
    .await;
    for _ in 0..3 {
        billing.record("{}").await;
    }
    billing.app.run_until_idle().await;
    assert_eq!(billing.end().await.0, "succeeded/succeeded");
    let seen: Vec<String> =
        sqlx::query_scalar("select distinct note from billing.entries").fetch_all(&mut billing.conn).await.unwrap();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].starts_with(&format!("{ROLE} billing, pg_temp on ")) && seen[0].ends_with(" - 0"), "{seen:?}");
}

#[tokio::test]
async fn a_payload_that_jsonb_refuses_is_a_dead_letter_with_the_reason_or_goes_in_as_bytes() {
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let refused: [(&[u8], &str); 6] = [
        (br#"{"a":"\u0000"}"#, "22P05"),
        (br#"{"a":"\ud800"}"#, "22P02"),
        (b"{\"a\":\"\xff\"}", "22021"),
        (b"no json", "22P02"),
        (br#"{"a":1e999999}"#, "22003"),
        (&deep, "54001"),
    ];
    let mut billing = Billing::with(INSERT).await;
    for (body, code) in refused {
        billing.deliver(body).await;
        let (end, reason) = billing.end().await;
        assert_eq!(end, "dead/rejected", "{code}: {reason}");
        assert!(reason.contains(code) && reason.contains("payload bytea"), "{code}: {reason}");
    }
    teach_form(&mut billing.conn, "bytea", "insert into entries (note) values (md5(payload));").await;
    for (body, code) in refused {
        billing.deliver(body).await;
        assert_eq!(billing.end().await.0, "succeeded/succeeded", "{code}");
        let is_there: bool = sqlx::query_scalar("select exists (select from billing.entries where note = md5($1))")
            .bind(body)
            .fetch_one(&mut billing.conn)
            .await
            .unwrap();
        assert!(is_there, "{code}: every byte as it came");
    }
    billing.deliver("{}").await;
    assert_eq!(billing.text("select payload::text from billing.entries order by id desc limit 1").await, "{}");
}

#[tokio::test]
async fn an_error_about_data_of_the_functions_own_is_not_blamed_on_the_payload() {
    let mut billing = Billing::with("perform '{'::jsonb;").await;
    teach_form(&mut billing.conn, "bytea", "insert into entries (note) values ('bytes');").await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!((end.as_str(), billing.entries().await), ("retrying/failed", 0));
    assert!(reason.contains("22P02"), "{reason}");
    billing.app.may_leave_work();
}

#[tokio::test]
async fn a_form_of_github_goes_in_as_the_json_in_it() {
    let mut billing = Billing::with(INSERT).await;
    let letter = billing.app.sender().github("push", "payload=%7B%22ref%22%3A+%22main%22%7D");
    assert_eq!(letter.header("content-type", "application/x-www-form-urlencoded").send().await.status, 200);
    billing.app.run_until_idle().await;
    assert_eq!(billing.text("select payload ->> 'ref' from billing.entries").await, "main");
}

#[tokio::test]
async fn what_is_missing_is_named_with_the_statement_that_adds_it() {
    let mut billing = Billing::with(INSERT).await;
    let steps: [(&str, &str); 5] = [
        (
            "drop function billing.on_event(jsonb, jsonb)",
            "create function billing.on_event(receipt jsonb, payload jsonb) returns void",
        ),
        (
            "create function billing.on_event(receipt jsonb, payload jsonb) returns void language sql as ''; \
             revoke all on schema billing from oncehook_test_writer",
            "grant usage on schema billing to oncehook_test_writer",
        ),
        (
            "grant usage on schema billing to oncehook_test_writer; \
             revoke all on function billing.on_event(jsonb, jsonb) from public",
            "grant execute on function billing.on_event(jsonb, jsonb) to oncehook_test_writer",
        ),
        ("alter schema billing rename to elsewhere", "create schema billing"),
        (
            "alter schema elsewhere rename to billing; grant execute on all functions in schema billing to oncehook_test_writer",
            "",
        ),
    ];
    for (change, advice) in steps {
        billing.run(change).await;
        billing.deliver("{}").await;
        let (end, reason) = billing.end().await;
        let expected = if advice.is_empty() { "succeeded/succeeded" } else { "retrying/failed" };
        assert_eq!(end, expected, "{reason}");
        assert!(reason.contains(advice), "{reason}");
    }
    billing.app.may_leave_work();
}

#[tokio::test]
async fn what_a_function_publishes_goes_with_its_effect() {
    let insert = "insert into oncehook.outbox (event_type, payload) values ('billed', '{}');";
    let mut billing = Billing::with(&format!("{insert} raise exception 'no';")).await;
    // The tests' clock is a table, which the real one is not.
    billing
        .run(&format!(
            "grant usage on schema oncehook, oncehook_test to {ROLE}; grant select on oncehook_test.clock to {ROLE};
             grant insert on oncehook.outbox to {ROLE}"
        ))
        .await;
    billing.deliver("{}").await;
    assert!(billing.end().await.1.contains("P0001"));
    assert_eq!(billing.app.count("select count(*) from oncehook.outbox").await, 0);
    billing.teach(insert).await;
    billing.app.advance(TimeDelta::hours(1)).await;
    billing.app.run_until_idle().await;
    assert_eq!(billing.app.count("select count(*) from oncehook.outbox").await, 1);
}
