//! Many senders, several nodes, one database: one receipt an event, one order a lane, and no deadlock.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use futures_util::future::join_all;
use oncehook::{
    app::App,
    domain::NewReceipt,
    store::{
        record_new::record_new,
        record_seen_before::{classify_seen_before, record_seen_before},
    },
};
use sqlx::{Connection as _, PgConnection};

use crate::support::{
    app::TestApp,
    cluster::fresh_database,
    destination::TestDestination,
    invariants::{assert_lane_invariants, until_somebody_waits_for_a_lock},
    recorders::event,
    sender::{Letter, Sender},
};

const AT_ONCE: usize = 50;

/// Two nodes with one route to a service.
async fn two_nodes(service: &TestDestination, order: &str) -> (TestApp, App) {
    let config = format!(
        r#"
        [intake]
        listen = "127.0.0.1:0"
        [admin]
        listen = "127.0.0.1:0"
        [sources.github]
        provider = "github"
        secrets = [{{ env = "GITHUB_SECRET" }}]
        [destinations.service]
        kind = "http"
        url = "{}"
        [[routes]]
        name = "deploy"
        source = "github"
        events = ["*"]
        destination = "service"
        order = "{order}"
        "#,
        service.url()
    );
    let app = TestApp::start_from(&config).await;
    let other = app.another().await;
    (app, other)
}

/// Sends each letter at the same time, half of them to each node; how often each status was answered.
async fn send_at_once(letters: impl Iterator<Item = Letter>) -> HashMap<String, usize> {
    let replies = join_all(letters.map(|letter| async move { letter.send().await })).await;
    let mut counts = HashMap::new();
    for reply in replies {
        *counts.entry(reply.text_of("status")).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn fifty_duplicates_at_once_on_two_nodes_are_one_receipt_one_delivery_and_one_effect() {
    send_duplicates_at_once("arrival").await;
}

#[tokio::test]
async fn fifty_duplicates_at_once_are_one_effect_without_lanes_too() {
    send_duplicates_at_once("none").await;
}

async fn send_duplicates_at_once(order: &str) {
    const ROUNDS: usize = 100;
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service, order).await;
    let senders = [app.sender(), Sender::to(other.intake_address().unwrap(), app.clock().clone())];
    for round in 0..ROUNDS {
        let letter = |n: usize| senders[n % 2].push("main").id(&format!("guid-{round}"));
        let counts = send_at_once((0..AT_ONCE).map(letter)).await;
        let expected = [("accepted".to_owned(), 1), ("duplicate".to_owned(), AT_ONCE - 1)];
        assert_eq!(counts, HashMap::from(expected), "round {round}");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 100);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 100);
    assert_eq!(app.count("select (count(*) + sum(repeats))::bigint from oncehook.arrivals").await, 100 * 49);
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 0);
    assert_lane_invariants(&mut app.database().await).await;
    app.run_until_idle().await;
    let effects: Vec<_> =
        service.received().iter().map(|request| request.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!((effects.len(), effects.iter().collect::<HashSet<_>>().len()), (ROUNDS, ROUNDS));
}

#[tokio::test]
async fn fifty_payloads_at_once_under_one_id_are_one_receipt_and_all_others_are_kept_and_not_run() {
    const ROUNDS: usize = 200;
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service, "arrival").await;
    let senders = [app.sender(), Sender::to(other.intake_address().unwrap(), app.clock().clone())];
    for round in 0..ROUNDS {
        // Of another repository each, so that a loser's delivery would be in a lane of its own.
        let body = |n: usize| format!(r#"{{"ref":"refs/heads/main","repository":{{"id":{n}}},"round":{round}}}"#);
        let letter = |n: usize| senders[n % 2].github("push", body(n)).id(&format!("guid-{round}"));
        let counts = send_at_once((0..AT_ONCE).map(letter)).await;
        let expected = [("accepted".to_owned(), 1), ("conflict".to_owned(), AT_ONCE - 1)];
        assert_eq!(counts, HashMap::from(expected), "round {round}");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, ROUNDS as i64);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, ROUNDS as i64);
    let whole = "select count(distinct b) from (select body b from oncehook.conflicts union all
        select body from oncehook.payloads) every";
    assert_eq!(app.count(whole).await, (ROUNDS * AT_ONCE) as i64, "every payload is kept");
    app.run_until_idle().await;
    let first: HashSet<Vec<u8>> = sqlx::query_scalar("select body from oncehook.payloads")
        .fetch_all(&mut app.database().await)
        .await
        .unwrap()
        .into_iter()
        .collect();
    let run: Vec<_> = service.received().into_iter().map(|request| request.body).collect();
    assert_eq!(run.len(), ROUNDS);
    assert_eq!(run.into_iter().collect::<HashSet<_>>(), first, "what ran is what came first");
}

/// Looks again and again until it is over: what it sees of a lane only ever grows at its end.
async fn watch_lanes_grow(mut watcher: PgConnection, is_over: Arc<AtomicBool>) {
    let mut seen: HashMap<String, Vec<i64>> = HashMap::new();
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        let lanes: Vec<(String, Vec<i64>)> = sqlx::query_as(
            "select ordering_key, array_agg(seq order by seq) from oncehook.deliveries group by ordering_key",
        )
        .fetch_all(&mut watcher)
        .await
        .unwrap();
        for (lane, now) in lanes {
            let before = seen.entry(lane).or_default();
            assert!(now.starts_with(before), "{before:?} became {now:?}");
            *before = now;
        }
        if is_last {
            return;
        }
    }
}

/// Otherwise a worker could see and run a later delivery first.
#[tokio::test]
async fn the_order_within_a_lane_is_the_order_of_commits_on_two_nodes() {
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service, "arrival").await;
    let addresses = [app.app().intake_address().unwrap(), other.intake_address().unwrap()];
    let (clock, ticks, is_over) = (app.clock().clone(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut watcher = app.database().await;
    // Between the number and the commit: without the lane's lock, long enough for another to overtake.
    let linger = "create function linger() returns trigger language plpgsql as
            $$ begin perform count(*) from generate_series(1, (random() * 40000)::int); return null; end $$;
        create constraint trigger linger after insert on oncehook.deliveries deferrable initially deferred
            for each row execute function linger()";
    sqlx::raw_sql(linger).execute(&mut watcher).await.unwrap();
    let watched = watch_lanes_grow(watcher, is_over.clone());
    let sending = async {
        let senders = (0..4).map(|n| {
            let (sender, ticks) = (Sender::to(addresses[n % 2], clock.clone()), ticks.clone());
            async move {
                let mut sent = Vec::new();
                for number in 0..60 {
                    let letter = sender.push(&format!("lane-{}", number % 3)).id(&format!("{n}-{number}"));
                    let from = ticks.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(letter.send().await.text_of("status"), "accepted");
                    sent.push((format!("{n}-{number}"), number % 3, from, ticks.fetch_add(1, Ordering::SeqCst)));
                }
                sent
            }
        });
        let sent = join_all(senders).await.concat();
        is_over.store(true, Ordering::SeqCst);
        sent
    };
    let (sent, ()) = tokio::join!(sending, watched);
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "select r.delivery_id, d.seq from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id",
    )
    .fetch_all(&mut app.database().await)
    .await
    .unwrap();
    let seq: HashMap<String, i64> = rows.into_iter().collect();
    assert_eq!(seq.len(), 240);
    for (earlier, lane, _, answered) in &sent {
        for (later, other_lane, began, _) in &sent {
            let is_after = lane == other_lane && began > answered;
            assert!(!is_after || seq[later] > seq[earlier], "{later} was sent after {earlier} was answered");
        }
    }
    assert_lane_invariants(&mut app.database().await).await;
    app.run_until_idle().await;
    assert_eq!(service.received().len(), 240);
}

/// The sequence is allotted under the lane's lock, which is held until the commit.
#[tokio::test]
async fn a_recorder_waits_for_the_one_that_records_into_the_same_lane() {
    let database = fresh_database().await;
    let (mut one, mut other, mut watcher) =
        (database.connect().await, database.connect().await, database.connect().await);
    // The lane is open already in the second round.
    for round in 0..2 {
        let [first, second, elsewhere] = [("first", "lane"), ("second", "lane"), ("third", "another lane")]
            .map(|(name, lane)| event(&format!("{name}-{round}"), Some(lane), "{}"));
        let mut tx = one.begin().await.unwrap();
        record_new(&mut tx, &[&first]).await.unwrap();
        assert_eq!(record_new(&mut other, &[&elsewhere]).await.unwrap().stored.len(), 1, "other lanes do not wait");
        let batch = [&second];
        let mut waiting = Box::pin(record_new(&mut other, &batch));
        tokio::select! {
            _ = &mut waiting => panic!("it did not wait"),
            () = until_somebody_waits_for_a_lock(&mut watcher) => {}
        }
        tx.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap().stored.len(), 1);
    }
    let order = "select array_agg(r.delivery_id order by d.seq) from oncehook.deliveries d
        join oncehook.receipts r on r.id = d.receipt_id where d.ordering_key = 'lane'";
    let order: Vec<String> = sqlx::query_scalar(order).fetch_one(&mut watcher).await.unwrap();
    assert_eq!(order, ["first-0", "second-0", "first-1", "second-1"]);
    assert_lane_invariants(&mut watcher).await;
}

/// As the committer does it; gives how many were new.
async fn record_all(conn: &mut PgConnection, events: &[NewReceipt]) -> usize {
    let all: Vec<_> = events.iter().collect();
    let stored = record_new(conn, &all).await.expect("no deadlock surfaces").stored;
    let rest: Vec<_> = all.into_iter().filter(|event| !stored.contains(&event.id)).collect();
    let seen = classify_seen_before(conn, &rest).await.unwrap();
    assert_eq!(seen.len(), rest.len(), "what was not stored was seen before");
    let with_request: Vec<_> = seen.iter().map(|classified| (classified, rest[classified.place])).collect();
    record_seen_before(conn, &with_request, 1).await.expect("no deadlock surfaces");
    stored.len()
}

/// B091: two recorders with the same 500 events in opposite orders, first as new ones, then as conflicts beyond the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_recorders_with_the_same_events_in_opposite_orders_never_deadlock() {
    const EVENTS: usize = 500;
    const ROUNDS: usize = 16;
    let database = fresh_database().await;
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    for conn in [&mut one, &mut other] {
        // A deadlock is found at once, instead of after a second in which it may look like slowness.
        sqlx::raw_sql("set deadlock_timeout = '10ms'").execute(conn).await.unwrap();
    }
    for round in 0..ROUNDS {
        // Without lanes the receipts' own keys are what the recorders meet at.
        let key = |n: usize| (round % 2 == 0).then(|| format!("lane {}", n % 97));
        let one_event = |n: usize, body: &str| event(&format!("{round}-{n}"), key(n).as_deref(), body);
        let forward: Vec<_> = (0..EVENTS).map(|n| one_event(n, "one")).collect();
        let backward: Vec<_> = (0..EVENTS).rev().map(|n| one_event(n, "other")).collect();
        let (by_one, by_other) = tokio::join!(record_all(&mut one, &forward), record_all(&mut other, &backward));
        assert_eq!(by_one + by_other, EVENTS);
        // All are known now: each recorder notes arrivals beyond the limit on rows that the other counts on too.
        let (by_one, by_other) = tokio::join!(record_all(&mut one, &backward), record_all(&mut other, &forward));
        assert_eq!(by_one + by_other, 0);
    }
    let noted = "select (count(*) + sum(repeats))::bigint from oncehook.arrivals";
    let noted: i64 = sqlx::query_scalar(noted).fetch_one(&mut one).await.unwrap();
    assert_eq!(noted, 16 * 3 * 500, "of four requests for an event one made the receipt");
}
