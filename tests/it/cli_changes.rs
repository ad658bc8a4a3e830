//! Changes by the command line, on the database itself: what they come to, who is written down, and what is refused.

use serde_json::Value;

use crate::support::{app::TestApp, terminal::Terminal};

async fn receipt(app: &TestApp, id: &str) -> String {
    app.sender().push("main").id(id).send().await.text_of("receipt")
}

async fn only_delivery(app: &TestApp) -> String {
    let id: uuid::Uuid =
        sqlx::query_scalar("select id from oncehook.deliveries").fetch_one(&mut app.database().await).await.unwrap();
    oncehook::domain::DeliveryRef::from(id).to_string()
}

#[tokio::test]
async fn a_delivery_is_called_off_and_asked_for_again() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    receipt(&app, "one").await;
    let delivery = only_delivery(&app).await;
    let cancelled = terminal.json(&format!("deliveries cancel {delivery} --reason mistake")).await;
    assert_eq!((&cancelled["what"], &cancelled["state"]), (&delivery.as_str().into(), &"cancelled".into()));
    let (code, complaint) = terminal.complaint(&format!("deliveries cancel {delivery}")).await;
    assert!(code == 1 && complaint.starts_with("error: "), "{code} {complaint}");
    assert!(terminal.stdout(&format!("deliveries retry {delivery}")).await.ends_with('\n'));
    assert_eq!(app.run_until_idle().await, 1);
    let (code, _) = terminal.complaint("deliveries retry dlv_01ke6vafet00000000000000d1").await;
    assert_eq!(code, 4);

    let audit = terminal.json("audit --action cancel").await;
    let [entry] = audit.as_array().unwrap().as_slice() else { panic!("{audit}") };
    assert_eq!((&entry["via"], &entry["reason"]), (&"command_line".into(), &"mistake".into()));
    assert!(entry["operator"].as_str().unwrap().contains('@'), "{entry}");
}

#[tokio::test]
async fn a_route_is_paused_and_resumed_and_the_pause_is_told() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    terminal.stdout("routes pause github-demo --reason maintenance").await;
    let (code, _) = terminal.complaint("routes pause github-demo").await;
    assert_eq!(code, 1, "it is paused already");
    let (code, _) = terminal.complaint("routes pause nowhere").await;
    assert_eq!(code, 4);
    let pauses = terminal.json("pauses").await;
    assert_eq!((&pauses[0]["name"], &pauses[0]["reason"]), (&"github-demo".into(), &"maintenance".into()));
    assert!(terminal.stdout("routes").await.contains("paused"));
    receipt(&app, "one").await;
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("queued".to_owned(), 1)]);
    terminal.stdout("routes resume github-demo").await;
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
    terminal.stdout("destinations pause demo").await;
    assert!(terminal.stdout("destinations").await.contains("paused"));
    terminal.stdout("destinations resume demo").await;
    assert_eq!(terminal.stdout("pauses").await, "nothing is paused\n");
}

#[tokio::test]
async fn a_receipt_runs_again_and_a_conflict_becomes_one() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let id = receipt(&app, "one").await;
    app.run_until_idle().await;
    let replayed = terminal.json(&format!("receipts replay {id} --route github-demo")).await;
    assert_eq!((&replayed["receipt"], &replayed["deliveries"][0]["done"]), (&id.as_str().into(), &"revived".into()));
    app.run_until_idle().await;
    app.sender().github("push", r#"{"ref":"refs/heads/other"}"#).id("one").send().await;
    let conflict = app.count("select id from oncehook.conflicts").await;
    let promoted = terminal.stdout(&format!("conflicts promote {conflict}")).await;
    assert!(promoted.starts_with("receipt rcp_") && !promoted.contains(&id), "{promoted}");
    let (code, _) = terminal.complaint(&format!("conflicts promote {conflict}")).await;
    assert_eq!(code, 1, "it was promoted already");
    let (code, _) = terminal.complaint("conflicts promote 99999").await;
    assert_eq!(code, 4);
    let (code, _) = terminal.complaint(&format!("release {id}")).await;
    assert_eq!(code, 1, "it is not held");
    app.run_until_idle().await;
}

#[tokio::test]
async fn sources_and_their_secrets_are_shown() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    receipt(&app, "one").await;
    app.run_until_idle().await;
    let sources = terminal.json("sources").await;
    let names: Vec<_> = sources.as_array().unwrap().iter().map(|source| source["source"].clone()).collect();
    assert_eq!(names, [Value::from("github"), Value::from("stripe")]);
    assert!(terminal.stdout("sources show github").await.contains("/hooks/github"));
    let (code, complaint) = terminal.complaint("sources show nowhere").await;
    assert!(code == 4 && complaint.contains("nowhere"), "{complaint}");
}

#[tokio::test]
async fn dead_letters_are_changed_only_when_somebody_says_which() {
    let terminal = Terminal::on("postgres://127.0.0.1:1/none");
    for line in ["dead-letters retry", "dead-letters discard", "dead-letters discard --yes"] {
        let (code, complaint) = terminal.complaint(line).await;
        assert!(code == 2 && complaint.contains("--all"), "{line}: {complaint}");
    }
}
