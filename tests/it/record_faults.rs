//! Recording while the database does not answer, breaks off in the middle, or is full of waiting requests: a 2xx only for
//! what is stored, and sending again is always safe.

use futures_util::future::{join_all, select_all};

use crate::support::{
    app::TestApp,
    invariants::assert_lane_invariants,
    recorders::{RecordBench, event, word},
    wire::Cut,
};

/// Waits until recording waits for a lock that the test holds.
async fn until_recording_waits(conn: &mut sqlx::PgConnection) {
    let waiting = "select count(*) from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database())";
    while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut *conn).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_commit_that_nobody_heard_of_is_found_again_and_answered_as_accepted() {
    let (app, wire) = TestApp::start_behind_wire("").await;
    for cut in [Cut::AfterItsCommit, Cut::BeforeItArrives] {
        let letter = app.sender().push("main");
        let id = format!("unheard-{cut:?}");
        wire.cut_once(cut, &id);
        let reply = letter.clone().id(&id).send().await;
        assert!(wire.has_cut());
        assert_eq!((reply.status, &*reply.text_of("status")), (200, "accepted"), "{cut:?}");
        assert_eq!(letter.id(&id).send().await.text_of("receipt"), reply.text_of("receipt"));
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2);
    assert_eq!(app.count("select count(*) from oncehook.arrivals").await, 2, "a try of our own is no arrival");
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_never_answered_2xx_and_its_redelivery_is_a_duplicate() {
    let (app, wire) = TestApp::start_behind_wire("").await;
    for (cut, status) in [(Cut::AfterItsCommit, "duplicate"), (Cut::BeforeItArrives, "accepted")] {
        let id = format!("unknown-{cut:?}");
        let letter = app.sender().push("main").id(&id);
        wire.cut_for_good(cut, &id);
        let reply = letter.send().await;
        assert!(wire.has_cut());
        assert_eq!((reply.status, &*reply.text_of("type")), (503, "urn:oncehook:problem:outcome-unknown"), "{cut:?}");
        wire.mend();
        let again = letter.send().await;
        assert_eq!((again.status, &*again.text_of("status")), (200, status));
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2);
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
}

#[tokio::test]
async fn an_event_that_never_left_for_the_database_is_answered_so() {
    let (app, wire) = TestApp::start_behind_wire("").await;
    wire.take_down();
    let letter = app.sender().push("main");
    let reply = letter.send().await;
    assert_eq!((reply.status, &*reply.text_of("type")), (503, "urn:oncehook:problem:database-away"));
    wire.mend();
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    app.run_until_idle().await;
}

#[tokio::test]
async fn backends_that_are_ended_under_the_recorder_lose_and_double_nothing() {
    let app = TestApp::start().await;
    let (sender, mut conn) = (app.sender(), app.database().await);
    let terminate = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'oncehook record'";
    let mut answered = 0;
    for round in 0..30 {
        let letters: Vec<_> = (0..8).map(|n| sender.push(&format!("branch-{n}"))).collect();
        let sent = join_all(letters.iter().map(super::support::sender::Letter::send));
        let ended = async {
            for _ in 0..round % 5 {
                tokio::task::yield_now().await;
            }
            sqlx::query(terminate).execute(&mut conn).await.unwrap();
        };
        let (replies, ()) = tokio::join!(sent, ended);
        for (letter, reply) in letters.iter().zip(replies) {
            let again = letter.send().await;
            match reply.status {
                200 => {
                    answered += 1;
                    assert_eq!(reply.text_of("status"), "accepted", "it was sent once");
                    assert_eq!(again.text_of("status"), "duplicate");
                    assert_eq!(again.text_of("receipt"), reply.text_of("receipt"));
                }
                503 => assert_eq!(again.status, 200, "{}", again.text),
                status => panic!("{status}: {}", reply.text),
            }
        }
    }
    assert!(answered > 0);
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 240);
    assert_eq!(app.count("select count(*) from oncehook.deliveries").await, 240);
    assert_lane_invariants(&mut conn).await;
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 240)]);
}

#[tokio::test]
async fn a_full_queue_is_answered_busy_and_what_waits_in_it_is_recorded() {
    let app = TestApp::start_with("[record]\nqueue_max = 1\nbatch_rows_max = 1").await;
    let (sender, mut holder) = (app.sender(), app.database().await);
    sqlx::raw_sql("begin; lock table oncehook.receipts").execute(&mut holder).await.unwrap();
    let letters: Vec<_> = (0..3).map(|n| sender.push(&format!("branch-{n}"))).collect();
    let mut first = Box::pin(letters[0].send());
    let mut watcher = app.database().await;
    tokio::select! {
        reply = &mut first => panic!("{} while nothing can be stored", reply.status),
        () = until_recording_waits(&mut watcher) => {}
    }
    // One of the two finds the only place.
    let both = [1, 2].map(|n| Box::pin(letters[n].send()));
    let (refused, _, waiting) = select_all(both).await;
    assert_eq!((refused.status, &*refused.text_of("type")), (503, "urn:oncehook:problem:busy"));
    assert!(refused.headers.contains_key("retry-after"));

    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(first.await.text_of("status"), "accepted");
    for reply in join_all(waiting).await {
        assert_eq!(reply.text_of("status"), "accepted");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2, "busy has stored nothing");
    let mut words = Vec::new();
    for letter in &letters {
        words.push(letter.send().await.text_of("status"));
    }
    words.sort();
    assert_eq!(words, ["accepted", "duplicate", "duplicate"], "the refused one is new");
    app.run_until_idle().await;
}

#[tokio::test]
async fn recording_that_takes_too_long_is_answered_503_and_finished_all_the_same() {
    let app = TestApp::start_with_intake("record_timeout = \"100ms\"").await;
    let mut holder = app.database().await;
    sqlx::raw_sql("begin; lock table oncehook.receipts").execute(&mut holder).await.unwrap();
    let letter = app.sender().push("main");
    let reply = letter.send().await;
    assert_eq!((reply.status, &*reply.text_of("type")), (503, "urn:oncehook:problem:outcome-unknown"));
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    // The first try stands before it in the queue.
    assert_eq!(letter.send().await.text_of("status"), "duplicate");
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}

#[tokio::test]
async fn requests_that_nobody_waits_for_any_more_are_recorded_in_their_order() {
    let bench = RecordBench::new().await;
    let mut holder = bench.connect().await;
    sqlx::raw_sql("begin; lock table oncehook.receipts").execute(&mut holder).await.unwrap();
    for n in 0..3 {
        let mut gone = Box::pin(bench.recorder.record(event(&format!("evt_{n}"), Some("a"), "{}")));
        // Polled once, which puts it in the queue, and dropped.
        assert!(futures_util::poll!(&mut gone).is_pending());
    }
    until_recording_waits(&mut bench.connect().await).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    let last = bench.recorder.record(event("evt_3", Some("a"), "{}")).await;
    assert_eq!(word(&last), "accepted");
    let in_order = "select array_to_string(array_agg(r.delivery_id order by d.seq), ' ') = 'evt_0 evt_1 evt_2 evt_3'
        from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id";
    let is_in_order: bool = sqlx::query_scalar(in_order).fetch_one(&mut holder).await.unwrap();
    assert!(is_in_order);
    assert_lane_invariants(&mut holder).await;
}
