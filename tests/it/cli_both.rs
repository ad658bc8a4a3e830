//! The command line says the same whether it works on the database itself or asks the appliance: byte for byte.

use crate::support::{
    app::TestApp,
    destination::{Reply, TestDestination},
    terminal::Terminal,
};

fn config(destination: &TestDestination) -> String {
    format!(
        r#"
        [intake]
        listen = "127.0.0.1:0"
        threads = 1
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
        events = ["push"]
        destination = "deployer"
        on_dead = "block"
        "#,
        destination.url()
    )
}

/// A push that succeeded, one that is dead and blocks its lane, with one behind it; a duplicate, a conflict, a pause, a change.
async fn after_a_night() -> (TestApp, TestDestination, Terminal, Terminal) {
    let destination = TestDestination::start([Reply::Status(200), Reply::Status(404)]).await;
    let config = config(&destination);
    let mut app = TestApp::start_from(&config).await;
    app.may_leave_work();
    let sender = app.sender();
    sender.push("main").id("one").send().await;
    app.run_until_idle().await;
    sender.push("main").id("two").send().await;
    app.run_until_idle().await;
    sender.push("main").id("three").send().await;
    sender.push("main").id("one").send().await;
    sender.github("push", r#"{"ref":"refs/heads/other","n":"\u001b[2J"}"#).id("one").send().await;
    sender.github("issues", r#"{"action":"opened","issue":{"id":1}}"#).send().await;
    let local = Terminal::with_config(&config, app.test_database().url());
    local.stdout("routes pause deploy --reason maintenance").await;
    app.write_figures().await;
    let token = local.json("tokens create anna --role operate").await["token"].as_str().unwrap().to_owned();
    let remote = Terminal::elsewhere(&format!("http://{}", app.app().admin_address())).with("ONCEHOOK_TOKEN", &token);
    (app, destination, local, remote)
}

#[tokio::test]
async fn every_look_is_the_same_here_and_elsewhere() {
    let (app, _destination, local, remote) = after_a_night().await;
    let conflict = app.count("select id from oncehook.conflicts").await;
    let receipts = local.json("receipts").await;
    let receipt = receipts[0]["receipt"].as_str().unwrap().to_owned();
    let dead = local.json("dead-letters").await[0]["delivery"].as_str().unwrap().to_owned();
    for line in [
        "receipts",
        "receipts --limit 2",
        "receipts --state dead --source github",
        "receipts --unmatched",
        "receipts search one",
        "receipts search --path ref --value refs/heads/main",
        "receipts show one",
        "receipts show one --source github",
        "receipts tail -n 3",
        "receipts why two",
        &format!("receipts show {receipt}"),
        &format!("deliveries show {dead}"),
        "deliveries",
        "deliveries --state waiting --since 2h",
        "dead-letters",
        "dead-letters --error 404",
        "dead-letters groups",
        "dead-letters retry --all --dry-run",
        "lanes",
        "lanes --blocked",
        "conflicts",
        "conflicts --open",
        &format!("conflicts show {conflict}"),
        "sources",
        "sources show github",
        "routes",
        "destinations",
        "pauses",
        "bulks",
        "audit",
        "audit --action pause",
    ] {
        for line in [line.to_owned(), format!("{line} --json")] {
            let (here, elsewhere) = (local.stdout(&line).await, remote.stdout(&line).await);
            assert_eq!(here, elsewhere, "oncehook {line}");
            assert!(!here.contains('\u{1b}'), "{line}: {here:?}");
        }
    }
    let raw = |terminal: &Terminal| terminal.command(&["receipts", "show", "one", "--raw"]).output();
    let (here, elsewhere) = (raw(&local).await.unwrap(), raw(&remote).await.unwrap());
    assert!(here.status.success() && here.stdout == elsewhere.stdout && !here.stdout.is_empty());
}

#[tokio::test]
async fn every_refusal_is_the_same_here_and_elsewhere() {
    let (_app, _destination, local, remote) = after_a_night().await;
    for (line, code) in [
        ("receipts show nothing", 4),
        ("receipts show rcp_01ke6vafet00000000000000r1", 4),
        ("receipts why dlv_01ke6vafet00000000000000d1", 4),
        ("receipts --cursor nonsense", 2),
        ("receipts replay one --route nowhere", 4),
        ("release one", 1),
        ("deliveries retry dlv_01ke6vafet00000000000000d1", 4),
        ("conflicts show 99999", 4),
        ("conflicts promote 99999", 4),
        ("sources show nowhere", 4),
        ("routes pause nowhere", 4),
        ("routes pause deploy", 1),
        ("destinations resume deployer", 1),
        ("lanes unblock deploy nothing", 1),
        ("bulks show 00000000-0000-0000-0000-000000000000", 4),
    ] {
        let (here, elsewhere) = (local.complaint(line).await, remote.complaint(line).await);
        assert_eq!(here.0, code, "{line}: {}", here.1);
        assert_eq!(here, elsewhere, "{line}");
    }
}

#[tokio::test]
async fn changes_are_carried_out_elsewhere_and_written_down_under_the_token() {
    let (app, _destination, local, remote) = after_a_night().await;
    remote.stdout("routes resume deploy --reason done").await;
    let desk = app.desk_to_look();
    let working = async {
        loop {
            desk.work_bulks().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    // The appliance works it off meanwhile; this one does so only when it is told.
    let retried = tokio::select! {
        retried = remote.stdout("dead-letters retry --all --yes --reason back") => retried,
        () = working => unreachable!(),
    };
    assert!(retried.contains("is done: retried 1 of 1"), "{retried}");
    app.run_until_idle().await;
    assert_eq!(local.stdout("dead-letters").await, "no dead letters\n");
    remote.stdout("receipts replay one").await;
    app.run_until_idle().await;
    let audit = local.json("audit --operator anna").await;
    assert!(audit.as_array().unwrap().len() >= 3, "{audit}");

    let reader = local.json("tokens create bert --role read").await["token"].as_str().unwrap().to_owned();
    let url = format!("http://{}", app.app().admin_address());
    for (token, line, code) in
        [(reader.as_str(), "receipts", 0), (reader.as_str(), "receipts replay one", 5), ("oh_wrong", "receipts", 5)]
    {
        let output = Terminal::elsewhere(&url).with("ONCEHOOK_TOKEN", token).run(line).await;
        assert_eq!(output.status.code(), Some(code), "{line}: {output:?}");
    }
    assert_eq!(Terminal::elsewhere(&url).complaint("receipts").await.0, 5, "no token at all");
}
