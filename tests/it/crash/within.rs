//! A process killed, stopped for longer than its lease, or cut off at each step of an effect in this database, and another
//! one in its place: the ledger has each delivery once, in the order of its lane.

use super::{
    aftermath::{number, until_all_is_finished},
    load::Load,
};
use crate::support::{
    cluster::{TestDatabase, fresh_database},
    invariants::assert_lane_invariants,
    ledger,
    process::Site,
};

const EVENTS: usize = 8;

/// Tells the lane and the place in it, beside what the ledger needs.
const ENTER: &str = "insert into entries (delivery, note) values (receipt ->> 'delivery', receipt ->> 'delivery_id');";

async fn site() -> (TestDatabase, Site) {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    ledger::found(&mut conn).await;
    ledger::teach(&mut conn, ENTER).await;
    let run = "[run]\nconcurrency = 1\nlease = \"2s\"\nheartbeat = \"500ms\"\npoll = \"50ms\"\nrescue = \"200ms\"\n";
    let config = ledger::CONFIG
        .replace("attempts = 2, initial = \"1s\", max = \"1s\"", "attempts = 100, initial = \"20ms\", max = \"100ms\"");
    let site = Site::new(&format!("{run}{config}"), database.url());
    (database, site)
}

/// Whatever happened: each delivery succeeded, and stands in the ledger once, in the order of its lane.
async fn assert_each_once(database: &TestDatabase) {
    let mut conn = database.connect().await;
    until_all_is_finished(&mut conn).await;
    assert_lane_invariants(&mut conn).await;
    let events = i64::try_from(EVENTS).unwrap();
    assert_eq!(number(&mut conn, "select count(*) from oncehook.deliveries where state = 'succeeded'").await, events);
    assert_eq!(number(&mut conn, "select count(*) from billing.entries").await, events, "no effect is there twice");
    assert_eq!(number(&mut conn, "select count(distinct delivery) from billing.entries").await, events);
    let out_of_order = "select count(*) from (
        select d.seq < lag(d.seq) over (partition by d.ordering_key order by e.id) as is_late
        from billing.entries e join oncehook.receipts r on r.delivery_id = e.note
        join oncehook.deliveries d on d.receipt_id = r.id) t where is_late";
    assert_eq!(number(&mut conn, out_of_order).await, 0);
}

async fn survive_a_kill(point: &str) {
    let (database, site) = site().await;
    let receiver = site.start(&["serve", "--no-work"]).await;
    let doomed = site.start_doomed(&["work"], &format!("{point}=2*off->return")).await;
    let mut load = Load::new(2, EVENTS / 2);
    load.send_rest(&receiver.sender()).await;
    doomed.until_killed().await;
    let successor = site.start(&["work"]).await;
    assert_each_once(&database).await;
    successor.stop().await;
    receiver.stop().await;
}

async fn survive_a_stop(point: &str) {
    let (database, site) = site().await;
    let receiver = site.start(&["serve", "--no-work"]).await;
    let zombie = site.start_doomed(&["work"], &format!("{point}=2*off->1*return(stop)->off")).await;
    let mut load = Load::new(2, EVENTS / 2);
    load.send_rest(&receiver.sender()).await;
    zombie.until_stopped().await;
    let successor = site.start(&["work"]).await;
    assert_each_once(&database).await;
    zombie.go_on();
    zombie.stop().await;
    assert_each_once(&database).await;
    successor.stop().await;
    receiver.stop().await;
}

async fn survive_an_error(point: &str) {
    let (database, site) = site().await;
    let receiver = site.start(&["serve", "--no-work"]).await;
    let struck = site.start_doomed(&["work"], &format!("{point}=2*off->3*return(error)->off")).await;
    let mut load = Load::new(2, EVENTS / 2);
    load.send_rest(&receiver.sender()).await;
    assert_each_once(&database).await;
    assert!(struck.log().contains(&format!("crash point {point}:")), "it was struck:\n{}", struck.log());
    struck.stop().await;
    receiver.stop().await;
}

/// One test for each point.
macro_rules! at {
    ($name:ident, $run:ident: $($point:ident),+) => {
        mod $name {
            $(#[tokio::test]
            async fn $point() {
                super::$run(stringify!($point)).await;
            })+
        }
    };
}

at!(killed, survive_a_kill: claimed, before_effect, after_effect, before_settle, before_commit, after_settle);
at!(stopped, survive_a_stop: claimed, before_effect, after_effect, before_settle, before_commit, after_settle);
at!(cut, survive_an_error: claimed, before_effect, after_effect, before_settle, before_commit, after_settle);
