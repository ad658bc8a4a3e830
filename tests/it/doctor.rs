//! `oncehook doctor`, as its own process: whether it finds what is wrong, and says nothing where all is well.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::support::{
    app::{GITHUB_SECRET, TestApp},
    cluster,
};

const CONFIG: &str = r#"
data_dir = "data"
[sources.github]
provider = "github"
secrets = [{ file = "{folder}/github-secret" }]
[destinations.demo]
kind = "log"
[[routes]]
name = "github-demo"
source = "github"
events = ["*"]
destination = "demo"
"#;

/// A folder with a configuration, in which the doctor is called.
struct Practice {
    folder: TempDir,
    database_url: String,
}

impl Practice {
    fn on(database_url: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{CONFIG}{more}").replace("{folder}", folder.path().to_str().unwrap());
        std::fs::write(folder.path().join("oncehook.toml"), text).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::write(folder.path().join("github-secret"), GITHUB_SECRET).unwrap();
        let practice = Self { folder, database_url: database_url.to_owned() };
        practice.set_mode("github-secret", 0o600);
        practice
    }

    fn set_mode(&self, file: impl AsRef<Path>, mode: u32) {
        std::fs::set_permissions(self.folder.path().join(file), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The exit code, and the findings but for those about the disk of the machine that tests run on.
    async fn examine(&self) -> (Option<i32>, Vec<Value>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncehook"));
        command.args(["doctor", "--json", "--config", "oncehook.toml"]).current_dir(&self.folder).env_clear();
        let output = command.env("DATABASE_URL", &self.database_url).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
        findings.retain(|finding| finding["check"] != "data_dir");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("canary") && !said.contains("canary"), "{said}");
        (output.status.code(), findings)
    }

    /// What it finds beyond notes: severity and check.
    async fn complaints(&self) -> Vec<(String, String, String)> {
        let of = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let (_, findings) = self.examine().await;
        let bad =
            findings.iter().filter(|finding| finding["severity"] == "warning" || finding["severity"] == "problem");
        bad.map(|bad| (of(bad, "severity"), of(bad, "check"), of(bad, "found"))).collect()
    }
}

fn has(complaints: &[(String, String, String)], severity: &str, check: &str, words: &str) -> bool {
    complaints.iter().any(|(is, of, found)| is == severity && of == check && found.contains(words))
}

#[tokio::test]
async fn a_healthy_appliance_has_nothing_but_notes_and_each_says_what_to_do() {
    let app = TestApp::start().await;
    let practice = Practice::on(app.test_database().url(), "");
    let (_, findings) = practice.examine().await;
    for finding in &findings {
        let severity = finding["severity"].as_str().unwrap();
        assert!(["ok", "note"].contains(&severity), "{finding}");
        assert!(severity == "ok" || !finding["do_instead"].as_str().unwrap().is_empty(), "{finding}");
    }
    let checks: Vec<_> = findings.iter().filter_map(|finding| finding["check"].as_str()).collect();
    for check in ["configuration", "database", "durability", "connections", "clocks", "schema", "workers", "sources"] {
        assert!(checks.contains(&check), "{check} was not looked at: {checks:?}");
    }
}

#[tokio::test]
async fn what_waits_without_a_worker_and_what_is_dead_blocked_or_held_is_found() {
    let mut app = TestApp::start().await;
    app.sender().push("main").send().await;
    let practice = Practice::on(app.test_database().url(), "");
    assert!(has(&practice.complaints().await, "problem", "workers", "1 delivery waits and no worker is alive"));
    for sql in [
        "update oncehook.deliveries set created_at = now() - interval '6 min'",
        "update oncehook.lanes set blocked_by = gen_random_uuid(), blocked_since = now()",
        "update oncehook.receipts set held_since = now()",
        "insert into oncehook.destination_health values ('demo', null, now(), 'it is away', 5)",
        "insert into oncehook.deliveries (id, receipt_id, route, destination, state, finished_at)
         values (gen_random_uuid(), gen_random_uuid(), 'github-demo', 'demo', 'dead', now())",
    ] {
        sqlx::query(sql).execute(&mut app.database().await).await.unwrap();
    }
    let complaints = practice.complaints().await;
    for (check, words) in [
        ("waiting", "1 delivery is unfinished"),
        ("lanes", "1 lane is blocked"),
        ("held receipts", "1 receipt is held"),
        ("destinations", "demo: the last attempts all failed"),
        ("dead letters", "1 dead letter"),
    ] {
        assert!(has(&complaints, "warning", check, words), "{check}: {complaints:?}");
    }
    app.may_leave_work();
}

#[tokio::test]
async fn what_a_destination_lacks_is_found_before_a_delivery_does() {
    let app = TestApp::start().await;
    let more = r#"
        [destinations.chat]
        kind = "http"
        url = "http://127.0.0.1:9/canary?token=canary"
        [destinations.books]
        kind = "sql"
        function = "ledger.enter"
        role = "nobody_of_that_name"
        [destinations.mailer]
        kind = "command"
        command = ["/nowhere/mailer"]
        [[routes]]
        name = "all"
        source = "github"
        events = ["*"]
        destination = "chat"
        [[routes]]
        name = "books"
        source = "github"
        events = ["*"]
        destination = "books"
        on_dead_destination = "mailer"
    "#;
    let practice = Practice::on(app.test_database().url(), more);
    let file = practice.folder.path().join("oncehook.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("allow_commands = true\n{text}")).unwrap();
    let complaints = practice.complaints().await;
    assert!(
        has(&complaints, "warning", "destinations", "chat: http://127.0.0.1:9 takes no connection"),
        "{complaints:?}"
    );
    assert!(has(&complaints, "problem", "SQL functions", "books: found no role"), "{complaints:?}");
    assert!(has(&complaints, "problem", "commands", "mailer: /nowhere/mailer cannot be run"), "{complaints:?}");
    assert_eq!(practice.examine().await.0, Some(3));
}

#[tokio::test]
async fn a_secret_that_everybody_can_read_is_found() {
    let app = TestApp::start().await;
    let practice = Practice::on(app.test_database().url(), "");
    practice.set_mode("github-secret", 0o644);
    let complaints = practice.complaints().await;
    assert!(has(&complaints, "warning", "secret files", "github-secret (mode 644)"), "{complaints:?}");
}

#[tokio::test]
async fn the_doctor_goes_as_far_as_it_can() {
    let practice = Practice::on("postgres://u:canary@127.0.0.1:1/x", "");
    let complaints = practice.complaints().await;
    assert!(complaints.len() == 1 && has(&complaints, "problem", "database", "cannot be reached"), "{complaints:?}");

    let database = cluster::empty_database().await;
    let practice = Practice::on(database.url(), "");
    let (_, findings) = practice.examine().await;
    let schema = findings.iter().find(|finding| finding["check"] == "schema").unwrap();
    assert!(schema["severity"] == "note" && schema["do_instead"].as_str().unwrap().contains("oncehook migrate"));

    let broken = Practice::on(database.url(), "[destinations.x]\nkind = \"lgo\"\n[[routes]]\nname = \"y\"");
    let (code, findings) = broken.examine().await;
    let mistakes = findings.iter().filter(|finding| finding["check"] == "configuration").count();
    assert!(code == Some(3) && mistakes >= 3, "{findings:?}");
    assert!(findings.iter().any(|finding| finding["check"] == "database"), "it looks at the database all the same");
}

#[tokio::test]
async fn a_schema_of_another_version_is_found() {
    let database = cluster::fresh_database().await;
    let practice = Practice::on(database.url(), "");
    let run = async |sql: &'static str| {
        sqlx::query(sql).execute(&mut database.connect().await).await.unwrap();
    };
    run("delete from oncehook._sqlx_migrations where version = 9").await;
    assert!(has(&practice.complaints().await, "warning", "schema", "lacks the migrations 9"));
    run("update oncehook._sqlx_migrations set version = 9000 where version = 1").await;
    assert!(has(&practice.complaints().await, "problem", "schema", "migration 9000, of a newer Oncehook"));
}
