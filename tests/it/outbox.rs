//! The outbox: what a transaction has written is published once, in order per key, and what it has not is not.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use oncehook::{app::App, run::dispatch_outbox_once};

use crate::support::{
    app::TestApp,
    destination::{Received, Reply, TestDestination},
    until::until,
};

/// A route from the outbox to a destination.
fn to(destination: &TestDestination) -> String {
    format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n[[routes]]\nname = \"publish\"\nsource = \"outbox\"\n\
         events = [\"order\"]\ndestination = \"service\"\n",
        destination.url()
    )
}

/// Publishes all that waits. Gives how many rows that were.
async fn publish_all(app: &App) -> usize {
    let mut published = 0;
    loop {
        match dispatch_outbox_once(app.context()).await.unwrap() {
            0 => return published,
            moved => published += moved,
        }
    }
}

/// Writes `count` rows each for the keys `a`, `b` and `c`, in turns.
async fn write(app: &TestApp, count: i32) {
    let insert = "insert into oncehook.outbox (event_type, ordering_key, payload)
                  select 'order.placed', key, jsonb_build_object('key', key, 'n', n)
                  from generate_series(1, $1) n, unnest(array['a', 'b', 'c']) key order by n, key";
    sqlx::query(insert).bind(count).execute(&mut app.database().await).await.unwrap();
}

/// What came for each key, in its order.
fn by_key(received: &[Received]) -> BTreeMap<String, Vec<i64>> {
    let mut by_key = BTreeMap::<String, Vec<i64>>::new();
    for request in received {
        let payload: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let key = payload["key"].as_str().unwrap();
        assert_eq!(request.header("oncehook-ordering-key"), Some(key));
        by_key.entry(key.to_owned()).or_default().push(payload["n"].as_i64().unwrap());
    }
    by_key
}

fn all_in_order(count: i64) -> BTreeMap<String, Vec<i64>> {
    ["a", "b", "c"].map(|key| (key.to_owned(), (1..=count).collect())).into()
}

#[tokio::test]
async fn each_row_is_published_once_in_order_per_key_as_an_event_like_any_other() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    write(&app, 70).await;
    assert_eq!(dispatch_outbox_once(app.app().context()).await.unwrap(), 100, "a batch is bounded");
    assert_eq!(publish_all(app.app()).await, 110);
    assert_eq!(app.count("select count(*) from oncehook.outbox").await, 0);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 210)]);
    let received = destination.received();
    assert_eq!(by_key(&received), all_in_order(70));
    // The lanes run in no order among themselves.
    let is_first = |request: &&Received| request.header("oncehook-delivery-id") == Some("outbox-1");
    let first = received.iter().find(is_first).unwrap();
    assert_eq!(first.header("oncehook-source"), Some("outbox"));
    assert_eq!(first.header("oncehook-event"), Some("order.placed"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(String::from_utf8_lossy(&first.body), r#"{"n": 1, "key": "a"}"#);
}

#[tokio::test]
async fn what_is_rolled_back_is_not_published() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    let script = "begin; insert into oncehook.outbox (event_type, payload) values ('order', '{}'); rollback";
    sqlx::raw_sql(script).execute(&mut app.database().await).await.unwrap();
    let mut open = app.database().await;
    let script = "begin; insert into oncehook.outbox (event_type, payload) values ('order', '{}')";
    sqlx::raw_sql(script).execute(&mut open).await.unwrap();
    assert_eq!(publish_all(app.app()).await, 0);
    sqlx::raw_sql("commit").execute(&mut open).await.unwrap();
    assert_eq!(publish_all(app.app()).await, 1);
    app.run_until_idle().await;
    assert_eq!(destination.received().len(), 1);
}

/// The answer to the first publication is lost: it is made again, and the receiver can tell that it has had it.
#[tokio::test]
async fn the_outbox_dispatcher_publishes_one_event_twice_under_one_key() {
    let destination = TestDestination::start([Reply::Reset]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    write(&app, 1).await;
    publish_all(app.app()).await;
    for _ in 0..2 {
        app.run_until_idle().await;
        app.advance(TimeDelta::hours(1)).await;
    }
    let mut requests = BTreeMap::<&str, u32>::new();
    let received = destination.received();
    for request in &received {
        *requests.entry(request.header("idempotency-key").unwrap()).or_default() += 1;
    }
    let mut counts: Vec<u32> = requests.into_values().collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 1, 2]);
    assert_eq!(received[0].body, received.last().unwrap().body, "it is the same event");
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 3);
}

#[tokio::test]
async fn a_publication_that_breaks_off_before_its_commit_is_made_once_afterwards() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    write(&app, 3).await;
    let mut conn = app.database().await;
    let breaking = "create function oncehook_test.breaks() returns trigger language plpgsql as
                    'begin raise exception ''broken''; end';
                    create constraint trigger breaks after insert on oncehook.deliveries deferrable initially deferred
                    for each row execute function oncehook_test.breaks()";
    sqlx::raw_sql(breaking).execute(&mut conn).await.unwrap();
    assert!(dispatch_outbox_once(app.app().context()).await.is_err());
    assert_eq!(app.count("select count(*) from oncehook.outbox").await, 9);
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 0);
    sqlx::raw_sql("drop trigger breaks on oncehook.deliveries").execute(&mut conn).await.unwrap();
    assert_eq!(publish_all(app.app()).await, 9);
    app.run_until_idle().await;
    assert_eq!(by_key(&destination.received()), all_in_order(3));
}

#[tokio::test]
async fn two_dispatchers_at_once_publish_each_row_once_and_in_order() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    let other = app.another().await;
    write(&app, 200).await;
    // None for either of them may also mean that the other has the turn.
    let until_empty = async |app: &App| {
        let mut published = 0;
        while app.context().pool.acquire().await.is_ok() {
            published += publish_all(app).await;
            let left = "select count(*) from oncehook.outbox";
            if sqlx::query_scalar::<_, i64>(left).fetch_one(&app.context().pool).await.unwrap() == 0 {
                break;
            }
        }
        published
    };
    let (mine, theirs) = tokio::join!(until_empty(app.app()), until_empty(&other));
    assert_eq!(mine + theirs, 600);
    app.run_until_idle().await;
    assert_eq!(by_key(&destination.received()), all_in_order(200));
    other.stop().await.unwrap();
}

#[tokio::test]
async fn a_destination_that_fails_holds_back_its_key_and_no_other() {
    let destination = TestDestination::start([Reply::Status(503)]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    write(&app, 2).await;
    publish_all(app.app()).await;
    app.run_until_idle().await;
    let received = by_key(&destination.received());
    let held_back: Vec<_> = received.iter().filter(|(_, numbers)| **numbers == [1]).collect();
    assert_eq!((held_back.len(), received.len()), (1, 3), "{received:?}");
    app.advance(TimeDelta::hours(1)).await;
    app.run_until_idle().await;
    assert_eq!(by_key(&destination.received()[1..]), all_in_order(2));
}

#[tokio::test]
async fn a_row_without_a_route_is_a_receipt_without_a_delivery() {
    let destination = TestDestination::start([]).await;
    let config = to(&destination).replace("events", "filter = 'payload.n > 1'\nevents");
    let app = TestApp::start_with(&config).await;
    write(&app, 1).await;
    assert_eq!(publish_all(app.app()).await, 3);
    assert_eq!(app.count("select count(*) from oncehook.receipts where source = 'outbox'").await, 3);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 0);
    write(&app, 2).await;
    publish_all(app.app()).await;
    app.run_until_idle().await;
    assert_eq!(destination.received().len(), 3, "the filter looked into the payload");
}

#[tokio::test]
async fn odd_rows_are_cleaned_and_published() {
    let destination = TestDestination::start([]).await;
    let config = to(&destination).replace("[\"order\"]", "[\"*\"]");
    let app = TestApp::start_with(&config).await;
    let odd = "insert into oncehook.outbox (event_type, ordering_key, payload) values
               (repeat('x', 10000), repeat('y', 10000), '5'), ('', '', 'null'), (E'a\\nb \\u00e9', E'c\\nd', '[]'),
               ('order', null, jsonb_build_object('x', repeat('z', 5000000))), ('order', null, '{\"n\": 1e400}')";
    sqlx::raw_sql(odd).execute(&mut app.database().await).await.unwrap();
    assert_eq!(publish_all(app.app()).await, 5);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 5)]);
    let received = destination.received();
    let types: Vec<&str> = received.iter().map(|request| request.header("oncehook-event").unwrap()).collect();
    assert!(types.contains(&"unknown") && types.contains(&"a?b??") && types.contains(&&*"x".repeat(128)), "{types:?}");
    assert!(received.iter().any(|request| request.body.len() > 5_000_000));
}

#[tokio::test]
async fn an_id_that_comes_again_is_an_event_of_its_own() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    write(&app, 1).await;
    publish_all(app.app()).await;
    let anew = "truncate oncehook.outbox restart identity";
    sqlx::raw_sql(anew).execute(&mut app.database().await).await.unwrap();
    write(&app, 2).await;
    assert_eq!(publish_all(app.app()).await, 6);
    app.run_until_idle().await;
    assert_eq!(destination.received().len(), 9);
    let flagged = "select count(*) from oncehook.receipts where flags[1] like 'outbox id seen before: outbox-%'";
    assert_eq!(app.count(flagged).await, 3);
}

#[tokio::test]
async fn nobody_posts_to_the_outbox() {
    let app = TestApp::start().await;
    let reply = app.sender().push("main").source("outbox").send().await;
    assert_eq!(reply.status, 404, "{}", reply.text);
}

#[tokio::test]
async fn a_running_process_publishes_by_itself() {
    let destination = TestDestination::start([]).await;
    let app = TestApp::start_with(&to(&destination)).await;
    let worker = app.another_that_works().await;
    write(&app, 50).await;
    destination.wait_for(150).await;
    until("all is settled", async || app.states().await == [("succeeded".to_owned(), 150)]).await;
    worker.stop().await.unwrap();
    assert_eq!(by_key(&destination.received()), all_in_order(50));
}
