//! Size, time and memory of requests: what is too much is refused early, with an answer, and harms nobody else.

use crate::support::{
    app::TestApp,
    connection::Connection,
    sender::{Letter, Reply},
};

const MIB: usize = 1 << 20;

/// The series that tells how much memory bodies take.
const IN_MEMORY: &str = "oncehook_body_bytes_in_memory";

/// A push that is JSON and exactly so many bytes long.
fn sized(app: &TestApp, bytes: usize) -> Letter {
    let (head, tail) = (r#"{"ref":"refs/heads/main","repository":{"id":1},"x":""#, r#""}"#);
    let filling = "x".repeat(bytes - head.len() - tail.len());
    app.sender().github("push", format!("{head}{filling}{tail}"))
}

async fn answer_to(app: &TestApp, request: impl AsRef<[u8]>) -> Option<Reply> {
    let mut wire = Connection::to(app.sender().address()).await;
    wire.try_send(request).await;
    wire.answer().await
}

/// Waits until bodies take so many bytes: what a test has sent is then known to have arrived.
async fn until_in_memory(app: &TestApp, bytes: usize) {
    while app.metric(IN_MEMORY).await != bytes as u64 {
        tokio::task::yield_now().await;
    }
}

/// B103: GitHub sends up to 25 MB.
#[tokio::test]
async fn everything_that_a_provider_sends_has_room_and_what_is_larger_is_a_413() {
    let app = TestApp::start().await;
    for bytes in [99_000, 101_000, 257_000, 2_100_000, 10_000_000, 25 * MIB - MIB / 10] {
        let letter = sized(&app, bytes);
        let reply = letter.send().await;
        assert_eq!(reply.status, 200, "{bytes}: {}", reply.text);
        let stored: i32 = app
            .of_receipt("select octet_length(body) from oncehook.payloads where receipt_id = $1", &reply.receipt())
            .await;
        assert_eq!(stored, i32::try_from(bytes).unwrap());
        assert_eq!(reply.text_of("event_type"), "push");
    }
    let reply = sized(&app, 26 * MIB + 1).send().await.presentable();
    assert_eq!((reply.status, reply.problem().as_str()), (413, "body-too-large"), "{}", reply.text);
    assert_eq!(app.counted("github", "too_large").await, 1);
    assert_eq!(app.metric(IN_MEMORY).await, 0);
    app.run_until_idle().await;
}

/// B102: an announced length is believed at once, an unannounced one is counted.
#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_however_it_is_framed() {
    let app = TestApp::start_from(&TestApp::config_with("[sources.github]", "body_bytes_max = \"4KiB\"")).await;
    assert_eq!(sized(&app, 4_096).send().await.status, 200, "the limit itself is within");
    assert_eq!(answer_to(&app, sized(&app, 4_096).wire_in_chunks(1_000)).await.unwrap().status, 200);
    let before = app.rows().await;
    let large = sized(&app, 4_097);
    let announced_only = large.wire_head("content-length: 1000000000000");
    // No last chunk: the answer comes though the body goes on.
    let mut endless = sized(&app, 8_000).wire_in_chunks(900);
    endless.truncate(endless.len() - 5);
    for request in [large.wire(), large.wire_in_chunks(1_000), announced_only, endless] {
        let reply = answer_to(&app, request).await.unwrap().presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (413, "body-too-large"), "{}", reply.text);
    }
    assert_eq!(app.rows().await, before);
    app.run_until_idle().await;
}

/// B102: one who is not believed by the head alone never gets memory.
#[tokio::test]
async fn an_unsigned_body_is_refused_before_it_is_read() {
    let app = TestApp::start().await;
    let head = sized(&app, 100).unsigned().wire_head("content-length: 20000000");
    let mut wires = Vec::new();
    for _ in 0..20 {
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(&head).await;
        wires.push(wire);
    }
    for wire in &mut wires {
        assert_eq!(wire.answer().await.unwrap().presentable().status, 401);
    }
    assert_eq!(app.metric(IN_MEMORY).await, 0);
    assert_eq!(app.sender().push("main").send().await.status, 200, "others are served meanwhile");
    app.run_until_idle().await;
}

/// B102: over all requests together there is one budget; beyond it the answer is "later", and it is given back.
#[tokio::test]
async fn bodies_share_one_budget_of_memory_and_give_it_back() {
    let text = TestApp::config_with("[intake]", "in_flight_bytes_max = \"1MiB\"")
        .replace("provider = ", "body_bytes_max = \"1MiB\"\nprovider = ");
    let app = TestApp::start_from(&text).await;
    let before = app.rows().await;
    let slow = sized(&app, MIB);
    let head_bytes = slow.wire_head("content-length: 1048576").len();
    let mut holder = Connection::to(app.sender().address()).await;
    holder.send(&slow.wire()[..head_bytes + 700_000]).await;
    until_in_memory(&app, 700_000).await;

    let reply = sized(&app, 400_000).send().await.presentable();
    assert_eq!((reply.status, reply.problem().as_str()), (503, "busy"), "{}", reply.text);
    assert!(reply.headers.contains_key("retry-after"));
    until_in_memory(&app, 700_000).await;
    assert_eq!(app.rows().await, before);
    assert_eq!(sized(&app, 200_000).send().await.status, 200, "what has room is taken");

    drop(holder);
    until_in_memory(&app, 0).await;
    assert_eq!(sized(&app, 400_000).send().await.status, 200);
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2, "of the one who left there is nothing");
    app.run_until_idle().await;
}

/// A body that breaks off is no event, whichever way its sender goes.
#[tokio::test]
async fn a_sender_that_leaves_in_the_middle_leaves_nothing() {
    let app = TestApp::start().await;
    let before = app.rows().await;
    let letter = sized(&app, 10_000);
    for (half, leaves_politely) in [(letter.wire(), true), (letter.wire_in_chunks(900), true), (letter.wire(), false)] {
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(&half[..half.len() - 3_000]).await;
        while app.metric(IN_MEMORY).await == 0 {
            tokio::task::yield_now().await;
        }
        if leaves_politely {
            wire.end_sending().await;
            let reply = wire.answer().await;
            assert!(reply.is_none_or(|reply| reply.presentable().status == 400), "a half is not a whole");
        }
        drop(wire);
        until_in_memory(&app, 0).await;
    }
    assert_eq!(app.rows().await, before);
    assert_eq!(letter.send().await.text_of("status"), "accepted", "the whole of it is a first");
    app.run_until_idle().await;
}

/// B107: a client that stalls is sent away, by the end of all patience or by its rate.
#[tokio::test]
async fn a_body_that_does_not_come_is_a_408() {
    let end_of_patience = "body_timeout = \"150ms\"";
    let too_slow = "body_timeout = \"10m\"\nbody_grace = \"150ms\"\nbody_rate_min = \"1GiB\"";
    for limits in [end_of_patience, too_slow] {
        let app = TestApp::start_from(&TestApp::config_with("[intake]", limits)).await;
        let before = app.rows().await;
        let letter = sized(&app, 10_000);
        for part in [letter.wire_head("content-length: 10000").len(), letter.wire().len() - 1] {
            let reply = answer_to(&app, &letter.wire()[..part]).await.unwrap().presentable();
            assert_eq!((reply.status, reply.problem().as_str()), (408, "body-too-slow"), "{}", reply.text);
        }
        assert_eq!(app.counted("github", "too_slow").await, 2);
        assert_eq!(app.metric(IN_MEMORY).await, 0);
        assert_eq!(app.rows().await, before);
    }
}

/// Lines that are longer together than the limit are refused with a word, and what HTTP itself bounds without.
#[tokio::test]
async fn header_lines_have_a_limit_together() {
    let app = TestApp::start_from(&TestApp::config_with("[intake]", "header_bytes_max = \"8KiB\"")).await;
    let before = app.rows().await;
    let push = || app.sender().push("main");
    for letter in [
        push().header("x-long", "x".repeat(8_192)),
        (0..60).fold(push(), |letter, number| letter.header(&format!("x-{number}"), "x".repeat(200))),
        (0..60).fold(push(), |letter, _| letter.also("x-same", "x".repeat(200))),
    ] {
        let reply = letter.send().await.presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (431, "headers-too-large"), "{}", reply.text);
    }
    let many = (0..200).fold(push(), |letter, number| letter.header(&format!("x-{number}"), "1"));
    assert_eq!(answer_to(&app, many.wire()).await.unwrap().status, 431);
    assert_eq!(answer_to(&app, push().header("x-huge", "x".repeat(200_000)).wire()).await.unwrap().status, 431);
    assert_eq!(app.rows().await, before);
    assert_eq!(push().header("x-long", "x".repeat(7_000)).send().await.status, 200);
    app.run_until_idle().await;
}

/// The connection of one who was refused early is not used again, and the answer arrives although the body is still coming.
#[tokio::test]
async fn an_early_refusal_is_read_by_its_sender_and_ends_the_connection() {
    let app = TestApp::start().await;
    let refusals = [
        (sized(&app, 5 * MIB).unsigned(), 401),
        (sized(&app, 5 * MIB).source("nobody"), 404),
        (sized(&app, 27 * MIB), 413),
    ];
    for (letter, status) in refusals {
        let reply = letter.send().await.presentable();
        assert_eq!(reply.status, status, "read by an ordinary client while it sends: {}", reply.text);

        let mut wire = Connection::to(app.sender().address()).await;
        wire.try_send(letter.wire()).await;
        let reply = wire.answer().await.unwrap();
        assert_eq!(reply.status, status);
        assert_eq!(reply.headers["connection"], "close");
        wire.try_send(app.sender().push("main").wire()).await;
        assert!(wire.ends().await, "nothing else is answered here");
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 0);
}
