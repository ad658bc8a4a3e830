//! Many dead letters by the command line, on the database itself: counted, agreed to, worked off.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::{app::TestApp, destination::TestDestination, terminal::Terminal, until::in_time};

/// An appliance whose destination takes everything now, and `number` dead letters from before.
async fn with_dead_letters(number: usize) -> (TestApp, TestDestination, Terminal) {
    let destination = TestDestination::start([]).await;
    let config = format!(
        r#"
        [intake]
        listen = "127.0.0.1:0"
        [admin]
        listen = "127.0.0.1:0"
        [sources.github]
        provider = "github"
        secrets = [{{ env = "GITHUB_SECRET" }}]
        [destinations.deployer]
        kind = "http"
        url = "{}"
        [[routes]]
        name = "deploy"
        source = "github"
        events = ["*"]
        order = "none"
        destination = "deployer"
        "#,
        destination.url()
    );
    let app = TestApp::start_from(&config).await;
    let terminal = Terminal::with_config(&config, app.test_database().url());
    // One came in; the others are made after it. To send them all and let each fail would take most of the test's time.
    app.sender().github("ping", "{}").id("n-1").send().await;
    let others = format!(
        "insert into oncehook.receipts
         select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'delivery_id', 'n-' || n))).*
         from oncehook.receipts r, generate_series(2, {number}) n;
         insert into oncehook.payloads select (jsonb_populate_record(p, jsonb_build_object('receipt_id', r.id))).*
         from oncehook.payloads p, oncehook.receipts r where r.id <> p.receipt_id;
         insert into oncehook.deliveries
         select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'receipt_id', r.id,
                                                             'seq', nextval(pg_get_serial_sequence('oncehook.deliveries', 'seq'))))).*
         from oncehook.deliveries d, oncehook.receipts r where r.id <> d.receipt_id;
         delete from apalis.jobs;
         update oncehook.deliveries set state = 'dead', finished_at = oncehook.now(), job_id = null, attempts = 1,
                                        last_error = 'answered 404 Not Found'"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(others)).execute(&mut app.database().await).await.unwrap();
    assert_eq!(app.states().await, [("dead".to_owned(), i64::try_from(number).unwrap())]);
    (app, destination, terminal)
}

#[tokio::test]
async fn a_thousand_dead_letters_are_discarded_by_filter() {
    let (app, _destination, terminal) = with_dead_letters(1_000).await;
    let counted = terminal.stdout("dead-letters discard --route deploy --dry-run").await;
    assert!(counted.starts_with("would discard 1000 dead letters; nothing was done\n"), "{counted}");
    let (code, complaint) = terminal.complaint("dead-letters discard --route deploy").await;
    assert!(code == 2 && complaint.contains("1000 dead letters") && complaint.contains("--yes"), "{complaint}");
    assert_eq!(app.states().await, [("dead".to_owned(), 1_000)], "nothing was done yet");
    assert_eq!(app.count("select count(*) from oncehook.audit").await, 0);

    let output = terminal.run("dead-letters discard --route deploy --yes --reason obsolete").await;
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.ends_with(" is done: discarded 1000 of 1000\n"), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no progress where there is no terminal");
    assert_eq!(app.states().await, [("cancelled".to_owned(), 1_000)]);
    assert!(terminal.stdout("bulks").await.contains("obsolete"));
    let none = terminal.stdout("dead-letters discard --route deploy --yes").await;
    assert_eq!(none, "no dead letters: nothing was done\n");
}

#[tokio::test]
async fn dead_letters_that_are_named_are_retried_without_asking() {
    let (app, _destination, terminal) = with_dead_letters(3).await;
    let dead = terminal.json("dead-letters").await;
    let ids: Vec<_> = dead.as_array().unwrap().iter().map(|line| line["delivery"].as_str().unwrap()).collect();
    let groups = terminal.json("dead-letters groups").await;
    assert_eq!((&groups[0]["count"], groups.as_array().unwrap().len()), (&3.into(), 1));
    let said = terminal.stdout(&format!("dead-letters retry {} {}", ids[0], ids[1])).await;
    assert!(said.contains("is done: retried 2 of 2"), "{said}");
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("dead".to_owned(), 1), ("succeeded".to_owned(), 2)]);
    terminal.stdout(&format!("dead-letters retry {}", ids[2])).await;
    app.run_until_idle().await;
    let (code, _) = terminal.complaint(&format!("dead-letters retry {}", ids[2])).await;
    assert_eq!(code, 1, "it is dead no more");
}

#[tokio::test]
async fn receipts_are_followed_as_they_come_in() {
    let app = TestApp::start().await;
    let terminal = Terminal::on(app.test_database().url());
    let sender = app.sender();
    let first = sender.push("one").send().await.text_of("receipt");
    let mut command = terminal.command(&["receipts", "tail", "-f", "--every", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || in_time("a receipt is shown", lines.next_line()).await.unwrap().unwrap();
    assert!(next().await.starts_with(&first));
    for id in ["two", "three"] {
        let receipt = sender.push(id).send().await.text_of("receipt");
        assert!(next().await.starts_with(&receipt), "each is shown once, in order");
    }
    child.kill().await.unwrap();
    app.run_until_idle().await;
}
