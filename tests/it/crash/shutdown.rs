//! SIGTERM: what is under way ends in good order, and the next start goes on.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
};

use super::{
    aftermath::{Effects, assert_all_is_well, number, until_all_is_finished},
    config,
    load::Load,
};
use crate::support::{
    cluster::fresh_database,
    destination::{Reply, TestDestination},
    process::{Process, Site},
    sender::Letter,
    until::{in_time, until},
};

async fn until_it_stops(process: &Process) {
    until("it says that it stops", async || process.log().contains("stopping: finishing what is under way")).await;
}

/// A request whose last byte is missing.
async fn send_all_but_the_last_byte(process: &Process, letter: &Letter, body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(process.intake()).await.unwrap();
    let mut head = format!("POST /hooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in letter.lines() {
        head.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
    }
    head.extend(b"\r\n");
    head.extend(&body[..body.len() - 1]);
    stream.write_all(&head).await.unwrap();
    stream
}

#[tokio::test]
async fn a_stop_answers_the_request_and_finishes_the_delivery_under_way() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let gate = Arc::new(Semaphore::new(0));
    let destination = TestDestination::start([Reply::StatusAfter(200, gate.clone())]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let mut process = site.start(&["serve"]).await;
    let mut load = Load::new(1, 3);
    load.send_rest(&process.sender()).await;
    destination.wait_for(1).await;
    let body = br#"{"ref":"refs/heads/late","repository":{"id":1}}"#;
    let letter = process.sender().github("push", body);
    let mut late = send_all_but_the_last_byte(&process, &letter, body).await;
    // Whoever has begun before the stop is served: wait until this one surely has.
    load.send_again(&process.sender()).await;

    process.terminate();
    until_it_stops(&process).await;
    late.write_all(&body[body.len() - 1..]).await.unwrap();
    let mut answer = String::new();
    in_time("the late request is answered", late.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}\n{}", process.log());
    gate.add_permits(1);
    let status = process.ended().await;
    assert!(status.success(), "{status}\n{}", process.log());
    assert_eq!(number(&mut conn, "select count(*) from oncehook.receipts").await, 4, "the late one is stored");
    assert_eq!(number(&mut conn, "select count(*) from oncehook.attempts where outcome = 'unknown'").await, 0);
    assert_eq!(number(&mut conn, "select count(*) from oncehook.attempts where outcome = 'succeeded'").await, 1);

    let next = site.start(&["serve"]).await;
    until_all_is_finished(&mut conn).await;
    assert_eq!(destination.received().len(), 8, "each delivery once");
    next.stop().await;
}

#[tokio::test]
async fn a_stop_puts_back_what_does_not_end_in_time_and_the_next_start_goes_on() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start([Reply::Hang]).await;
    let settings = format!("shutdown.grace = \"0s\"\n{}", config(&destination.url()));
    let site = Site::new(&settings, database.url());
    let mut process = site.start(&["serve"]).await;
    let mut load = Load::new(2, 3);
    load.send_rest(&process.sender()).await;
    destination.wait_for(1).await;
    process.terminate();
    let status = process.ended().await;
    assert!(status.success(), "{status}\n{}", process.log());
    assert_eq!(number(&mut conn, "select count(*) from oncehook.deliveries where state = 'running'").await, 0);
    assert_eq!(number(&mut conn, "select sum(tries + crashes)::int8 from oncehook.deliveries").await, 0);
    let held = "select count(*) from apalis.jobs where status in ('Queued', 'Running')";
    assert_eq!(number(&mut conn, held).await, 0, "nothing waits for a time-out");

    let next = site.start(&["serve"]).await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received().split_off(1));
    assert_eq!(assert_all_is_well(&load, &effects, &mut conn).await, 0);
    next.stop().await;
}
