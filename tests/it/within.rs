//! Promise P5 where effect and mark share one transaction: whoever comes late, twice or never back, the effect is there
//! once, together with its delivery's end.

use chrono::TimeDelta;
use oncehook::{app::App, run::drain_due};
use tokio::task::JoinHandle;

use crate::support::{
    app::TestApp,
    invariants::{assert_lane_invariants, until_somebody_waits_for_a_lock},
    ledger::{Billing, CONFIG, INSERT},
    until::until,
    wire::Cut,
};

/// Its first attempt waits behind this gate; the lock 7 of the test's own connection closes it.
const GATED: &str = "insert into entries (delivery, note) values (receipt ->> 'delivery', receipt ->> 'attempt');
    if receipt ->> 'attempt' = '1' then perform pg_advisory_xact_lock_shared(7); end if;";

/// Leases that no heartbeat of the real clock renews, so that the test's clock alone ends them.
fn long_leases() -> String {
    format!("[run]\nlease = \"10m\"\nheartbeat = \"4m\"\n{CONFIG}")
}

fn drain(app: &App, worker: &'static str) -> JoinHandle<usize> {
    let ctx = app.context().clone();
    tokio::spawn(async move { drain_due(&ctx, worker).await.unwrap() })
}

async fn close_gate(billing: &mut Billing) {
    billing.run("select pg_advisory_lock(7)").await;
}

async fn open_gate(billing: &mut Billing) {
    billing.run("select pg_advisory_unlock(7)").await;
}

async fn push(billing: &Billing) {
    assert_eq!(billing.app.sender().push("main").send().await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_at_five_consumers_at_once_is_processed_once() {
    let mut billing = Billing::with(GATED).await;
    close_gate(&mut billing).await;
    push(&billing).await;
    let mut consumers = tokio::task::JoinSet::new();
    for worker in ["one", "two", "three", "four", "five"] {
        let ctx = billing.app.app().context().clone();
        consumers.spawn(async move { drain_due(&ctx, worker).await.unwrap() });
    }
    for _ in 0..4 {
        consumers.join_next().await.unwrap().unwrap();
    }
    assert_eq!(billing.app.count("select count(*) from oncehook.attempts").await, 1, "four found nothing to process");
    assert_eq!(billing.app.states().await, [("running".to_owned(), 1)]);
    open_gate(&mut billing).await;
    consumers.join_next().await.unwrap().unwrap();
    billing.app.run_until_idle().await;
    assert_eq!(billing.end().await.0, "succeeded/succeeded");
    assert_eq!(billing.entries().await, 1);
    assert_eq!(billing.app.count("select count(*) from oncehook.attempts").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_was_paused_beyond_its_lease_delays_nobody_and_writes_nothing() {
    let mut billing = Billing::from(&long_leases(), GATED).await;
    close_gate(&mut billing).await;
    push(&billing).await;
    push(&billing).await;
    let zombie = drain(billing.app.app(), "zombie");
    until_somebody_waits_for_a_lock(&mut billing.conn).await;
    billing.app.advance(TimeDelta::hours(2)).await;
    // The second delivery's first attempt would wait at the gate too.
    billing.teach("insert into entries (delivery, note) values (receipt ->> 'delivery', receipt ->> 'attempt');").await;
    billing.app.run_until_idle().await;
    assert_eq!(billing.app.states().await, [("succeeded".to_owned(), 2)]);
    open_gate(&mut billing).await;
    zombie.await.unwrap();
    billing.app.run_until_idle().await;
    let notes = billing.text("select string_agg(note, ', ' order by id) from billing.entries").await;
    assert_eq!(notes, "2, 1", "what the first attempt wrote is undone");
    let ends = billing.text("select string_agg(outcome, ', ' order by a.number, d.seq desc) from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery").await;
    assert_eq!(ends, "succeeded, unknown, succeeded");
    assert_lane_invariants(&mut billing.conn).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_an_effect_lasts() {
    let config = format!("[run]\nlease = \"2s\"\nheartbeat = \"20ms\"\n{CONFIG}");
    let mut billing = Billing::from(&config, GATED).await;
    close_gate(&mut billing).await;
    push(&billing).await;
    let working = drain(billing.app.app(), "worker");
    until_somebody_waits_for_a_lock(&mut billing.conn).await;
    let mut conn = billing.app.database().await;
    let first: i64 = lease_end(&mut conn).await;
    until("the lease is renewed", async || lease_end(&mut conn).await > first).await;
    open_gate(&mut billing).await;
    working.await.unwrap();
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1));
}

async fn lease_end(conn: &mut sqlx::PgConnection) -> i64 {
    let sql = "select (extract(epoch from lease_expires_at) * 1000000)::bigint from oncehook.deliveries";
    sqlx::query_scalar(sql).fetch_one(conn).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_undoes_an_effect_that_does_not_end_and_puts_its_delivery_back() {
    let mut billing = Billing::with(GATED).await;
    close_gate(&mut billing).await;
    push(&billing).await;
    let working = drain(billing.app.app(), "worker");
    until_somebody_waits_for_a_lock(&mut billing.conn).await;
    billing.app.app().context().stop.let_go();
    working.await.unwrap();
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("queued/unknown", 0));
    assert_eq!(billing.app.count("select tries::bigint from oncehook.deliveries").await, 0, "a stop is no failure");
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
    assert_eq!(billing.app.count(waiting).await, 0, "nothing of it is left on the server");
    let next = billing.app.another().await;
    while drain(&next, "next").await.unwrap() > 0 {}
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1));
    next.stop().await.unwrap();
}

/// A ledger behind a way that is cut where `marker` is sent.
async fn cut(cut: Cut, marker: &str) -> Billing {
    let (app, wire) = TestApp::start_from_behind_wire(CONFIG).await;
    let mut billing = Billing::on(app, INSERT).await;
    push(&billing).await;
    push(&billing).await;
    wire.cut_once(cut, marker);
    billing.app.run_until_idle().await;
    assert!(wire.has_cut());
    // What was claimed together with the lost commit waits until its lease is over.
    for _ in 0..3 {
        billing.app.advance(TimeDelta::hours(1)).await;
        billing.app.run_until_idle().await;
    }
    assert_eq!(billing.app.states().await, [("succeeded".to_owned(), 2)]);
    assert_lane_invariants(&mut billing.conn).await;
    billing
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_not_done_twice() {
    let mut billing = cut(Cut::AfterItsCommit, "COMMIT").await;
    assert_eq!(billing.entries().await, 2);
    let first = billing.text("select a.outcome from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery order by d.seq, a.number limit 1").await;
    assert_eq!(first, "succeeded");
}

#[tokio::test]
async fn a_commit_that_never_arrives_undoes_the_effect_which_is_tried_again() {
    let mut billing = cut(Cut::BeforeItArrives, "COMMIT").await;
    assert_eq!(billing.entries().await, 2);
    let ends = billing.text("select string_agg(outcome || ': ' || reason, ', ' order by d.seq, a.number) from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery").await;
    assert!(ends.starts_with("failed: its effect was undone, since the transaction could not be committed"), "{ends}");
}

#[tokio::test]
async fn a_connection_that_is_lost_within_the_effect_undoes_it() {
    let mut billing = cut(Cut::BeforeItArrives, "on_event").await;
    assert_eq!(billing.entries().await, 2);
    let ends = billing.text("select string_agg(outcome, ', ' order by d.seq, a.number) from oncehook.attempts a join oncehook.deliveries d on d.id = a.delivery").await;
    assert_eq!(ends, "unknown, succeeded, succeeded");
}

#[tokio::test]
async fn a_function_whose_session_is_killed_is_tried_again_and_undone() {
    let mut billing = Billing::with(&format!(
        "{INSERT} if receipt ->> 'attempt' = '1' then perform pg_terminate_backend(pg_backend_pid()); end if;"
    ))
    .await;
    // A role may end sessions of itself only, which this one is not; so the function is given the right.
    billing.run("alter function billing.on_event(jsonb, jsonb) security definer").await;
    billing.run("alter function billing.on_event(jsonb, jsonb) set search_path = billing").await;
    billing.deliver("{}").await;
    let (end, reason) = billing.end().await;
    assert_eq!((end.as_str(), billing.entries().await), ("retrying/unknown", 0), "{reason}");
    billing.app.advance(TimeDelta::hours(1)).await;
    billing.app.run_until_idle().await;
    assert_eq!((billing.end().await.0.as_str(), billing.entries().await), ("succeeded/succeeded", 1));
}
