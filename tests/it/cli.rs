//! The command line, as its own process, against a database in which something has happened.

use std::collections::BTreeSet;

use oncehook::provider::Provider;
use serde_json::Value;

use crate::support::{
    app::TestApp,
    cluster,
    terminal::{CONFIG, Terminal, all},
};

#[tokio::test]
async fn a_fixture_is_sent_and_its_receipt_tells_what_became_of_it() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let to = format!("--to http://{}/hooks/github", app.app().intake_address().unwrap());
    let sent = terminal.json(&format!("send github push --id first {to}")).await;
    assert_eq!((sent["status"].as_u64(), sent["answer"]["status"].as_str()), (Some(200), Some("accepted")));
    app.run_until_idle().await;
    terminal.json(&format!("send github push --id first {to}")).await;
    let (code, _) = terminal.complaint(&format!("send github push --id first --set ref=refs/heads/x {to}")).await;
    assert_eq!(code, 1, "a conflict is answered 409");

    let receipt = sent["answer"]["receipt"].as_str().unwrap();
    let story = terminal.json("receipts show first").await;
    assert_eq!(story["receipt"], receipt);
    assert_eq!(story["verdict"][0], "The delivery to demo succeeded on attempt 1.");
    assert_eq!(all(&story["later_arrivals"], "kind"), ["duplicate", "conflict"]);
    assert_eq!(story["conflicts"].as_array().unwrap().len(), 1);
    let page = terminal.stdout(&format!("receipts show {receipt}")).await;
    assert!(
        page.contains("x-hub-signature-256: (not shown") && page.contains("\"ref\": \"refs/heads/main\""),
        "{page}"
    );
    let delivery = story["deliveries"][0]["delivery"].as_str().unwrap();
    assert_eq!(terminal.stdout(&format!("deliveries show {delivery}")).await, page);
    assert_eq!(terminal.json("receipts").await[0]["arrivals"], 3);
}

#[tokio::test]
async fn the_payload_comes_out_as_it_went_in() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let body = b"{ \"a\" :\t1e200000, \"\\ud800\": \"\xc3\xa9\"}\r\n\n".to_vec();
    let reply = app.sender().github("push", body.clone()).send().await;
    app.run_until_idle().await;
    let output = terminal.run(&format!("receipts show {} --raw", reply.text_of("receipt"))).await;
    assert_eq!(output.stdout, body);
}

#[tokio::test]
async fn many_letters_are_sent_and_their_answers_counted() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let to = format!("--to http://{}/hooks/github", app.app().intake_address().unwrap());
    let report = terminal.json(&format!("send github ping --repeat 20 --concurrency 4 {to}")).await;
    assert_eq!((&report["requests"], &report["answers"]["200 accepted"]), (&20.into(), &20.into()));
    app.run_until_idle().await;
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 20);
}

#[tokio::test]
async fn receipts_are_listed_newest_first_and_found_by_what_is_known_of_them() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let sender = app.sender();
    let mut sent = vec![sender.push("one").send().await.text_of("receipt")];
    sent.push(sender.github("issues", r#"{"action":"opened","issue":{"id":1}}"#).send().await.text_of("receipt"));
    sent.push(sender.push("two").send().await.text_of("receipt"));
    sent.reverse();
    assert_eq!(all(&terminal.json("receipts").await, "receipt"), sent);
    let page = terminal.json("receipts --limit 2").await;
    assert_eq!(all(&page, "receipt"), sent[..2]);
    let next = terminal.stdout("receipts --limit 2").await;
    let (_, cursor) = next.trim_end().rsplit_once("there are more: --cursor ").unwrap();
    assert_eq!(all(&terminal.json(&format!("receipts --cursor {cursor}")).await, "receipt"), sent[2..]);

    let id = page[1]["delivery_id"].as_str().unwrap();
    for (filter, found) in [
        ("--type issues".to_owned(), 1),
        ("--type issues.opened".to_owned(), 1),
        ("--type issue".to_owned(), 0),
        ("--source github --route github-demo --state queued".to_owned(), 3),
        ("--source stripe".to_owned(), 0),
        ("--state dead".to_owned(), 0),
        (format!("--delivery-id {id}"), 1),
        (format!("--delivery-id {id} --source stripe"), 0),
        (format!("--delivery-id {id} --state queued"), 1),
        (format!("--delivery-id {id} --state dead"), 0),
    ] {
        let lines = terminal.json(&format!("receipts {filter}")).await;
        assert_eq!(lines.as_array().unwrap().len(), found, "{filter}");
    }
    app.run_until_idle().await;
    let deliveries = terminal.json("deliveries --state succeeded --route github-demo --source github --limit 2").await;
    assert_eq!(all(&deliveries, "receipt"), sent[..2]);
    assert_eq!(terminal.json("deliveries --state dead").await, Value::Array(vec![]));
}

#[tokio::test]
async fn what_is_not_there_is_told_by_the_exit_code() {
    let database = cluster::fresh_database().await;
    let terminal = Terminal::on(database.url());
    assert_eq!(terminal.stdout("receipts").await, "no receipts\n");
    for id in ["nothing", "rcp_01ke6vafet00000000000000r1", "dlv_01ke6vafet00000000000000d1"] {
        let (code, complaint) = terminal.complaint(&format!("receipts show {id}")).await;
        assert!(code == 4 && complaint.contains(&format!("there is no receipt for \"{id}\"")), "{code} {complaint}");
    }
}

#[tokio::test]
async fn a_database_that_was_never_set_up_is_answered_with_what_sets_it_up() {
    let database = cluster::empty_database().await;
    let terminal = Terminal::on(database.url());
    let (code, complaint) = terminal.complaint("receipts").await;
    assert!(code == 1 && complaint.contains("\"oncehook migrate\" makes them"), "{complaint}");
    terminal.stdout("migrate").await;
    assert_eq!(terminal.stdout("deliveries").await, "no deliveries\n");
}

#[tokio::test]
async fn a_mistake_in_the_configuration_is_a_finding_and_the_password_is_never_shown() {
    let terminal = Terminal::on("postgres://u:canary@127.0.0.1:1/x");
    assert_eq!(terminal.stdout("database url").await, "postgres://u:***@127.0.0.1:1/x\n");
    for line in ["receipts", "receipts --log trace", "check"] {
        let output = terminal.run(line).await;
        let said = [output.stdout, output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("canary"), "{line}");
    }
    let broken = CONFIG.replace("kind = \"log\"", "kind = \"lgo\"").replace("events =", "evnts =");
    terminal.write("oncehook.toml", &broken);
    let output = terminal.run("check --json").await;
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: BTreeSet<_> = all(&report["errors"], "key").into_iter().map(|key| key.replace("[0]", "")).collect();
    assert!(keys.iter().any(|key| key.contains("kind")) && keys.iter().any(|key| key.contains("ev")), "{keys:?}");
    let (code, complaint) = terminal.complaint("send github push").await;
    assert!(code == 1 && complaint.contains("oncehook.toml:"), "{complaint}");
}

#[tokio::test]
async fn a_secret_that_is_not_there_yet_is_answered_with_what_makes_it() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/x");
    let (code, complaint) = terminal.complaint("send stripe invoice.paid").await;
    assert!(code == 1 && complaint.contains("\"oncehook serve\" makes it"), "{complaint}");
    let (code, complaint) = terminal.complaint("send github push --to http://127.0.0.1:1/hooks/github").await;
    assert!(code == 1 && complaint.contains("no answer from"), "{complaint}");
}

#[tokio::test]
async fn every_provider_has_a_fixture_that_can_be_sent() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/x");
    let listed = terminal.stdout("send --list").await;
    for provider in Provider::ALL {
        assert!(listed.lines().any(|line| line.starts_with(&format!("{provider} "))), "{listed}");
    }
}
