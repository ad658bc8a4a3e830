//! Requests as they come on real connections: several behind one another, with `Expect`, with odd header values. Raw bytes,
//! since an ordinary client would not send them.

use crate::support::{app::TestApp, connection::Connection, sender::Letter};

async fn status_of(app: &TestApp, request: impl AsRef<[u8]>) -> u16 {
    let mut wire = Connection::to(app.sender().address()).await;
    wire.try_send(request).await;
    wire.answer().await.expect("an answer").status
}

/// Nobody is believed for the company they keep.
#[tokio::test]
async fn each_request_on_a_connection_proves_itself() {
    let app = TestApp::start().await;
    let push = |id: &str| app.sender().push("main").id(id);
    let together = [
        push("a").wire(),
        push("b").wire_in_chunks(7),
        push("c").unsigned().wire(),
        push("d").unsigned().wire(),
        push("e").signed_over("lie").wire(),
    ];
    let mut wire = Connection::to(app.sender().address()).await;
    wire.send(together.concat()).await;
    for id in ["a", "b"] {
        let reply = wire.answer().await.unwrap().presentable();
        assert_eq!((reply.status, reply.text_of("delivery_id").as_str()), (200, id));
    }
    assert_eq!(wire.answer().await.unwrap().presentable().status, 401);
    // Whether the library looks at what stands behind a refused request is its affair.
    while let Some(reply) = wire.answer().await {
        assert_eq!(reply.presentable().status, 401);
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 2);
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_event() {
    let app = TestApp::start().await;
    let mut wire = Connection::to(app.sender().address()).await;
    let conflict = app.sender().push("main").id("same");
    for (letter, status) in [
        (app.sender().push("main"), 200),
        (conflict.clone(), 200),
        (conflict.clone(), 200),
        (conflict.body("{}"), 409),
        (app.sender().push("main"), 200),
    ] {
        wire.send(letter.wire()).await;
        assert_eq!(wire.answer().await.unwrap().presentable().status, status);
    }
    app.run_until_idle().await;
}

/// Two answers to the question where a body ends are the door to requests that nobody signed.
#[tokio::test]
async fn a_request_whose_end_is_ambiguous_is_refused() {
    let app = TestApp::start().await;
    let before = app.rows().await;
    let letter = app.sender().push("main");
    let inner = app.sender().push("main").wire();
    let framings = [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "content-length: 5\r\ncontent-length: 6",
        "content-length: +5",
        "content-length: 0x5",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
    ];
    for framing in framings {
        // An unsigned outer request, so that only what is smuggled within could be stored.
        let outer = letter.clone().unsigned().wire_head(framing);
        let status = status_of(&app, [outer, b"0\r\n\r\n".to_vec(), inner.clone()].concat()).await;
        assert!((400..=501).contains(&status), "{framing}: {status}");
        assert_eq!(app.rows().await, before, "{framing}");
    }
    for chunks in ["-1\r\nx\r\n0\r\n\r\n", "g\r\n", "5;ext=\"\r\n", "fffffffffffffffff\r\nx"] {
        let request = [letter.wire_head("transfer-encoding: chunked"), chunks.into()].concat();
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(request).await;
        wire.end_sending().await;
        assert!(wire.answer().await.is_none_or(|reply| reply.status == 400 || reply.status == 401), "{chunks:?}");
    }
    assert_eq!(app.rows().await, before);
}

/// B115
#[tokio::test]
async fn a_sender_that_asks_first_is_told_to_go_on() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let wire_form = letter.wire();
    let body = &wire_form[wire_form.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4..];
    let length = format!("content-length: {}", body.len());

    let mut wire = Connection::to(app.sender().address()).await;
    wire.send(letter.wire_head(&format!("expect: 100-continue\r\n{length}"))).await;
    assert_eq!(wire.answer().await.unwrap().status, 100);
    wire.send(body).await;
    assert_eq!(wire.answer().await.unwrap().presentable().status, 200);

    for expect in ["", "foo"] {
        let head = letter.wire_head(&format!("expect: {expect}\r\n{length}"));
        assert_eq!(status_of(&app, [&head, body].concat()).await, 200, "{expect:?} is passed over");
    }

    // The library says 100 before anybody has looked; the refusal follows at once, without a byte of the body.
    for (letter, more, status) in
        [(letter.clone(), "content-length: 30000000", 413), (letter.unsigned(), length.as_str(), 401)]
    {
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(letter.wire_head(&format!("expect: 100-continue\r\n{more}"))).await;
        let mut reply = wire.answer().await.unwrap();
        if reply.status == 100 {
            reply = wire.answer().await.unwrap();
        }
        assert_eq!(reply.presentable().status, status);
    }
    app.run_until_idle().await;
}

/// B106
#[tokio::test]
async fn header_values_are_bytes_and_no_reason_to_fall_over() {
    let app = TestApp::start().await;
    let values = ["é".as_bytes(), b"\xff", b"a\tb", &[b'v'; 16_384], b"", b"\xf0\x9f\x9a\x80", b"\x80\x81"];
    let names = [
        "user-agent",
        "x-github-event",
        "x-github-delivery",
        "x-github-hook-id",
        "cookie",
        "x-forwarded-for",
        "content-type",
        "x-hub-signature",
        "host",
        "accept",
    ];
    for name in names {
        for (number, value) in values.iter().enumerate() {
            let letter = app.sender().push("main").id(&format!("{name}-{number}")).header(name, value);
            let reply = {
                let mut wire = Connection::to(app.sender().address()).await;
                wire.send(letter.wire()).await;
                wire.answer().await.unwrap()
            };
            let may_refuse = matches!(name, "x-github-delivery" | "host");
            assert!(reply.status == 200 || (may_refuse && reply.status == 400), "{name} {value:?}: {reply:?}");
            if reply.status == 200 && name == "user-agent" {
                let stored = app.stored_headers(&reply.receipt()).await;
                let line = [b"user-agent: ", *value, b"\r\n"].concat();
                assert!(stored.windows(line.len()).any(|part| part == line), "{value:?} is kept as bytes");
            }
        }
    }
    app.run_until_idle().await;
}

/// B142: a scanner makes no series of its own.
#[tokio::test]
async fn the_metrics_do_not_grow_with_what_strangers_send() {
    let app = TestApp::start().await;
    let series = |text: String| -> Vec<String> {
        text.lines().map(|line| line.rsplit_once(' ').map_or(line, |(name, _)| name).to_owned()).collect()
    };
    let before = series(app.metrics().await);
    assert!(before.iter().any(|name| name.contains("source=\"github\"")), "{before:?}");
    for number in 0..60 {
        let stray = |letter: Letter| letter.header("user-agent", format!("scanner-{number}"));
        let push = || app.sender().push("main");
        stray(push()).source(&format!("secret-path-{number}")).send().await;
        stray(push()).header("x-github-event", format!("event-{number}")).send().await;
        stray(push()).unsigned().send().await;
        assert_eq!(status_of(&app, format!("POST /{number} HTTP/1.1\r\nhost: x\r\n\r\n")).await, 404);
    }
    assert_eq!(series(app.metrics().await), before);
    assert_eq!(app.counted("", "unknown_source").await, 60, "a source that is none is counted under no name");
    app.run_until_idle().await;
}
