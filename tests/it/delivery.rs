//! One attempt against a destination that behaves, misbehaves, or is not there. Each ending has its documented class.

use std::{collections::BTreeMap, time::Duration};

use oncehook::{
    clock::Clock,
    config::{Destination, DestinationKind, HttpDestination},
    deliver::Destinations,
    domain::{ANSWER_KEPT_BYTES, Outcome, OutcomeClass},
};
use tokio::io::AsyncWriteExt as _;

use crate::support::{
    destination::{Reply, TestDestination},
    parcel::{AMPLE, destinations, name, parcel, settings},
};

/// For what is to run out.
const SHORT: Duration = Duration::from_millis(100);

async fn attempt(settings: HttpDestination) -> Outcome {
    destinations(DestinationKind::Http(settings), &Clock::system()).deliver(&name(), &parcel()).await
}

/// The outcome of an attempt that is answered like this.
async fn attempt_at(reply: Reply) -> Outcome {
    let destination = TestDestination::start([reply]).await;
    let outcome = attempt(settings(destination.url())).await;
    assert_eq!(destination.received().len(), 1, "one attempt is one request");
    outcome
}

#[tokio::test]
async fn each_status_ends_an_attempt_in_its_documented_class() {
    use OutcomeClass::{Failed, Rejected, Succeeded};
    for (status, class) in [
        (200, Succeeded),
        (202, Succeeded),
        (204, Succeeded),
        (301, Failed),
        (400, Rejected),
        (401, Rejected),
        (404, Rejected),
        (408, Failed),
        (409, Rejected),
        (410, Rejected),
        (413, Rejected),
        (422, Rejected),
        (425, Failed),
        (429, Failed),
        (500, Failed),
        (502, Failed),
        (503, Failed),
        (504, Failed),
    ] {
        let outcome = attempt_at(Reply::Status(status)).await;
        assert_eq!(outcome.class, class, "{outcome:?}");
        assert_eq!(outcome.answer.as_ref().unwrap().status, status);
        assert!(outcome.reason.contains(&status.to_string()), "{}", outcome.reason);
    }
}

#[tokio::test]
async fn a_destination_that_cannot_be_reached_fails_the_attempt_and_does_not_kill_the_delivery() {
    let refused = TestDestination::start([]).await.stop().await;
    for url in [format!("http://{refused}/?token=canary"), "http://no-such-host.invalid/canary".to_owned()] {
        let outcome = attempt(settings(url.parse().unwrap())).await;
        assert_eq!(outcome.class, OutcomeClass::Failed, "{url}: {outcome:?}");
        assert!(!outcome.reason.contains("canary"), "{}", outcome.reason);
        assert!(outcome.answer.is_none());
    }
}

#[tokio::test]
async fn a_destination_without_the_tls_it_should_have_fails_the_attempt() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/canary", listener.local_addr().unwrap().port());
    let not_tls = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    let kind = DestinationKind::Http(settings(url.parse().unwrap()));
    match Destinations::new(
        &BTreeMap::from([(name(), Destination { name: name(), kind, concurrency: None, pace: None })]),
        &Clock::system(),
    ) {
        Ok(to) => {
            let outcome = to.deliver(&name(), &parcel()).await;
            assert_eq!(outcome.class, OutcomeClass::Failed, "{outcome:?}");
            assert!(!outcome.reason.contains("canary"), "{}", outcome.reason);
        }
        // A machine without certificate authorities is told what to install.
        Err(error) => assert!(error.to_string().contains("ca-certificates"), "{error}"),
    }
    not_tls.abort();
}

#[tokio::test]
async fn a_connection_that_is_not_made_in_time_fails_the_attempt() {
    // A listener whose queue is full: the system leaves further connections without an answer.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let _queued = [
        tokio::net::TcpStream::connect(address).await.unwrap(),
        tokio::net::TcpStream::connect(address).await.unwrap(),
    ];
    let url: url::Url = format!("http://{address}/").parse().unwrap();
    for (connect_timeout, timeout) in [(SHORT, AMPLE), (AMPLE, SHORT)] {
        let outcome = attempt(HttpDestination { connect_timeout, timeout, ..settings(url.clone()) }).await;
        assert_eq!(outcome.class, OutcomeClass::Failed, "{outcome:?}");
        assert!(outcome.reason.contains("no connection") && outcome.reason.contains("100ms"), "{}", outcome.reason);
    }
}

#[tokio::test]
async fn a_destination_that_comes_back_is_reached_again() {
    let destination = TestDestination::start([]).await;
    let to = destinations(DestinationKind::Http(settings(destination.url())), &Clock::system());
    assert_eq!(to.deliver(&name(), &parcel()).await.class, OutcomeClass::Succeeded);
    let address = destination.stop().await;
    assert_ne!(to.deliver(&name(), &parcel()).await.class, OutcomeClass::Succeeded);
    let destination = TestDestination::start_at(address, []).await;
    destination.then(Reply::Status(503));
    assert_eq!(to.deliver(&name(), &parcel()).await.class, OutcomeClass::Failed);
    assert_eq!(to.deliver(&name(), &parcel()).await.class, OutcomeClass::Succeeded);
}

#[tokio::test]
async fn a_lost_answer_is_unknown() {
    let head = |text: &str| text.as_bytes().to_vec();
    for reply in [
        Reply::Reset,
        Reply::Raw(vec![]),
        Reply::Raw(head("garbage\r\n\r\n")),
        Reply::Raw(vec![0xff; 4_000]),
        Reply::Raw(head("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n")),
        Reply::Raw(head("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf")),
        Reply::Raw(head("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n")),
        Reply::RawThenReset(head("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf")),
        Reply::RawThenReset(head("HTTP/1.1 200")),
        Reply::Raw(head("HTTP/1.1 700 What\r\ncontent-length: 0\r\n\r\n")),
        Reply::Raw([&b"HTTP/1.1 200 OK\r\n"[..], &b"x: y\r\n".repeat(5_000), b"\r\n"].concat()),
    ] {
        let outcome = attempt_at(reply.clone()).await;
        assert_eq!(outcome.class, OutcomeClass::Unknown, "{reply:?}: {outcome:?}");
        assert!(!outcome.reason.is_empty());
    }
}

#[tokio::test]
async fn silence_after_the_request_is_unknown_and_ends_in_time() {
    let ok_and_silence = Reply::RawThenHang(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx".to_vec());
    for (reply, first_byte_timeout, timeout, told) in [
        (Reply::Hang, SHORT, AMPLE, "100ms"),
        (Reply::Hang, AMPLE, SHORT * 5, "500ms"),
        (ok_and_silence, AMPLE, SHORT * 5, "500ms"),
    ] {
        let destination = TestDestination::start([reply]).await;
        let outcome = attempt(HttpDestination { first_byte_timeout, timeout, ..settings(destination.url()) }).await;
        assert_eq!(outcome.class, OutcomeClass::Unknown, "{outcome:?}");
        assert!(outcome.reason.contains(told), "{}", outcome.reason);
    }
}

#[tokio::test]
async fn a_no_whose_text_never_ends_is_still_a_no() {
    let reply = Reply::RawThenHang(b"HTTP/1.1 422 No\r\ncontent-length: 9\r\n\r\nbecause".to_vec());
    let destination = TestDestination::start([reply]).await;
    let outcome = attempt(HttpDestination { timeout: SHORT * 5, ..settings(destination.url()) }).await;
    assert_eq!(outcome.class, OutcomeClass::Rejected, "{outcome:?}");
    assert_eq!(outcome.answer.unwrap().body, "because");
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_not_read_on() {
    for (status, class) in [(200, OutcomeClass::Succeeded), (500, OutcomeClass::Failed)] {
        let outcome = attempt_at(Reply::Endless(status)).await;
        let answer = outcome.answer.unwrap();
        assert_eq!((outcome.class, answer.is_cut, answer.body.len()), (class, true, ANSWER_KEPT_BYTES));
    }
    let exact = Reply::Answer(200, vec![], vec![b'x'; ANSWER_KEPT_BYTES]);
    let answer = attempt_at(exact).await.answer.unwrap();
    assert_eq!((answer.is_cut, answer.body.len()), (false, ANSWER_KEPT_BYTES));
}

#[tokio::test]
async fn a_redirect_is_shown_and_not_followed() {
    let elsewhere = TestDestination::start([]).await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("http://user:canary@{}/moved?token=canary", elsewhere.address());
        let outcome = attempt_at(Reply::Answer(status, vec![("location", to)], vec![])).await;
        assert_eq!(outcome.class, OutcomeClass::Failed, "{outcome:?}");
        assert!(outcome.reason.contains(&format!("{}/moved", elsewhere.address())), "{}", outcome.reason);
        assert!(!outcome.reason.contains("canary"), "{}", outcome.reason);
    }
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn a_retry_after_is_passed_on() {
    let late = (Clock::system().now() + chrono::TimeDelta::days(2)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (value, at_least) in [("7", Some(7)), (late.as_str(), Some(3_600 * 47)), ("-5", None), ("abc", None)] {
        for status in [429, 503] {
            let outcome = attempt_at(Reply::Answer(status, vec![("retry-after", value.to_owned())], vec![])).await;
            match at_least {
                Some(seconds) => assert!(outcome.retry_after.unwrap().as_secs() >= seconds, "{outcome:?}"),
                None => assert_eq!(outcome.retry_after, None, "{value}"),
            }
        }
    }
}

#[tokio::test]
async fn a_destination_that_is_not_configured_fails_the_attempt_with_what_to_do() {
    let to = destinations(DestinationKind::Log, &Clock::system());
    let outcome = to.deliver(&"gone".parse().unwrap(), &parcel()).await;
    assert_eq!(outcome.class, OutcomeClass::Failed);
    assert!(outcome.reason.contains("[destinations.gone]"), "{}", outcome.reason);
}

#[tokio::test]
async fn the_log_takes_everything() {
    let to = destinations(DestinationKind::Log, &Clock::system());
    assert_eq!(to.deliver(&name(), &parcel()).await.class, OutcomeClass::Succeeded);
}
