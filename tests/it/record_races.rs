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
use sqlx::PgConnection;

use crate::support::{
    app::TestApp,
    cluster::fresh_database,
    destination::TestDestination,
    invariants::assert_lane_invariants,
    recorders::event,
    sender::{Letter, Sender},
};

const AT_ONCE: usize = 50;

/// Two nodes with one route to a service.
async fn two_nodes(service: &TestDestination) -> (TestApp, App) {
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
    const ROUNDS: usize = 200;
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service).await;
    let senders = [app.sender(), Sender::to(other.intake_address().unwrap(), app.clock().clone())];
    for round in 0..ROUNDS {
        let letter = |n: usize| senders[n % 2].push("main").id(&format!("guid-{round}"));
        let counts = send_at_once((0..AT_ONCE).map(letter)).await;
        let expected = [("accepted".to_owned(), 1), ("duplicate".to_owned(), AT_ONCE - 1)];
        assert_eq!(counts, HashMap::from(expected), "round {round}");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 200);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 200);
    assert_eq!(app.count("select (count(*) + sum(repeats))::bigint from oncehook.arrivals").await, 200 * 49);
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 0);
    assert_lane_invariants(&mut app.database().await).await;
    app.run_until_idle().await;
    let effects: Vec<_> =
        service.received().iter().map(|request| request.header("idempotency-key").unwrap().to_owned()).collect();
    assert_eq!((effects.len(), effects.iter().collect::<HashSet<_>>().len()), (ROUNDS, ROUNDS));
}

#[tokio::test]
async fn fifty_payloads_at_once_under_one_id_are_one_receipt_and_all_others_are_kept_and_not_run() {
    const ROUNDS: usize = 40;
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service).await;
    let senders = [app.sender(), Sender::to(other.intake_address().unwrap(), app.clock().clone())];
    for round in 0..ROUNDS {
        // Of another repository each, so that a loser's delivery would be in a lane of its own.
        let body = |n: usize| format!(r#"{{"ref":"refs/heads/main","repository":{{"id":{n}}},"round":{round}}}"#);
        let letter = |n: usize| senders[n % 2].github("push", body(n)).id(&format!("guid-{round}"));
        let counts = send_at_once((0..AT_ONCE).map(letter)).await;
        let expected = [("accepted".to_owned(), 1), ("conflict".to_owned(), AT_ONCE - 1)];
        assert_eq!(counts, HashMap::from(expected), "round {round}");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 40);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 40);
    let whole = "select count(distinct b) from (select body b from oncehook.conflicts union all
        select body from oncehook.payloads) every";
    assert_eq!(app.count(whole).await, 40 * 50, "every payload is kept");
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

/// What a reader sees of a lane only ever grows at its end: otherwise a worker would run a later delivery first.
#[tokio::test]
async fn the_order_within_a_lane_is_the_order_of_commits_on_two_nodes() {
    let service = TestDestination::start([]).await;
    let (app, other) = two_nodes(&service).await;
    let addresses = [app.app().intake_address().unwrap(), other.intake_address().unwrap()];
    let (clock, ticks, is_over) = (app.clock().clone(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let watched = watch_lanes(app.database().await, is_over.clone());
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

/// Looks at all lanes until `is_over`, and once more.
async fn watch_lanes(mut conn: PgConnection, is_over: Arc<AtomicBool>) {
    let mut seen: HashMap<String, Vec<i64>> = HashMap::new();
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        let lanes: Vec<(String, Vec<i64>)> = sqlx::query_as(
            "select ordering_key, array_agg(seq order by seq) from oncehook.deliveries group by ordering_key",
        )
        .fetch_all(&mut conn)
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

/// As the committer does it; gives how many were new.
async fn record_all(conn: &mut PgConnection, events: &[NewReceipt]) -> usize {
    let all: Vec<_> = events.iter().collect();
    let stored = record_new(conn, &all).await.expect("no deadlock surfaces");
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
    let database = fresh_database().await;
    let (mut one, mut other) = (database.connect().await, database.connect().await);
    for conn in [&mut one, &mut other] {
        // A deadlock is found at once, instead of after a second in which it may look like slowness.
        sqlx::raw_sql("set deadlock_timeout = '10ms'").execute(conn).await.unwrap();
    }
    for round in 0..12 {
        let batch = |body: &str| -> Vec<_> {
            (0..EVENTS).map(|n| event(&format!("{round}-{n}"), Some(&format!("lane {}", n % 97)), body)).collect()
        };
        let forward = batch("one");
        let mut backward = batch("other");
        backward.reverse();
        let (by_one, by_other) = tokio::join!(record_all(&mut one, &forward), record_all(&mut other, &backward));
        assert_eq!(by_one + by_other, EVENTS);
        // All are known now: each recorder notes arrivals beyond the limit on rows that the other counts on too.
        let (by_one, by_other) = tokio::join!(record_all(&mut one, &backward), record_all(&mut other, &forward));
        assert_eq!(by_one + by_other, 0);
    }
    let noted = "select (count(*) + sum(repeats))::bigint from oncehook.arrivals";
    let noted: i64 = sqlx::query_scalar(noted).fetch_one(&mut one).await.unwrap();
    assert_eq!(noted, 12 * 3 * 500, "of four requests for an event one made the receipt");
}
