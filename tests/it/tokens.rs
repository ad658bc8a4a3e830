//! Tokens on the command line, and what a start says of them.

use std::{fs::File, path::PathBuf, process::Output, process::Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::support::{
    app::GITHUB_SECRET,
    cluster::{self, TestDatabase},
    until::until,
    visitor::{Visitor, status},
};

const CONFIG: &str = r#"
[intake]
listen = "127.0.0.1:0"
[admin]
listen = "LISTEN"
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_SECRET" }]
[destinations.demo]
kind = "log"
[[routes]]
name = "github-demo"
source = "github"
events = ["*"]
destination = "demo"
"#;

/// A folder with a configuration, in which somebody types commands.
struct Desk {
    folder: TempDir,
    database: TestDatabase,
}

/// `serve`, as a person starts it.
struct Shown {
    _child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Desk {
    async fn listening(listen: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("oncehook.toml"), CONFIG.replace("LISTEN", listen)).unwrap();
        Self { folder, database: cluster::fresh_database().await }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncehook"));
        command.args(line.split_whitespace()).current_dir(&self.folder).env_clear().stdin(Stdio::null());
        command.env("ONCEHOOK_CONFIG", "oncehook.toml").env("GITHUB_SECRET", GITHUB_SECRET);
        command.env("DATABASE_URL", self.database.url()).kill_on_drop(true);
        command
    }

    async fn run(&self, line: &str) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(line).output().await.unwrap();
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    async fn start(&self, number: u8, line: &str) -> Shown {
        let file = |name: &str| self.folder.path().join(format!("{name}-{number}"));
        let (stdout, stderr) = (file("stdout"), file("stderr"));
        let mut command = self.command(line);
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        let shown = Shown { _child: command.spawn().unwrap(), stdout, stderr };
        until("it is running", async || shown.text().contains("Ctrl-C") || shown.text().contains("\"status\"")).await;
        shown
    }
}

impl Shown {
    fn text(&self) -> String {
        std::fs::read_to_string(&self.stdout).unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }

    fn token(&self) -> Option<String> {
        self.text().lines().find_map(|line| line.trim().strip_prefix("och_").map(|rest| format!("och_{rest}")))
    }

    fn visitor(&self) -> Visitor {
        let text = self.text();
        let address = text.split("operators").nth(1).unwrap().trim().trim_start_matches("http://");
        Visitor::to(&format!("http://{}", address.split('/').next().unwrap()))
    }
}

#[tokio::test]
async fn the_first_start_shows_a_token_once_that_lets_in() {
    let desk = Desk::listening("127.0.0.1:0").await;
    let script = desk.start(1, "serve --json").await;
    assert_eq!(script.token(), None, "{}", script.text());
    let first = desk.start(2, "serve").await;
    let token = first.token().unwrap_or_else(|| panic!("{}", first.text()));
    assert!(first.text().contains("it is shown this once"), "{}", first.text());
    assert_eq!(status(first.visitor().post("/api/v1/nothing-here").bearer_auth(&token)).await, 404);
    assert_eq!(status(first.visitor().get("/api/v1/nothing-here")).await, 401);
    let second = desk.start(3, "work").await;
    assert_eq!(second.token(), None, "{}", second.text());
    for shown in [&script, &first, &second] {
        assert!(!shown.log().contains("och_"), "{}", shown.log());
    }
}

#[tokio::test]
async fn a_lost_token_is_replaced_on_the_command_line() {
    let desk = Desk::listening("127.0.0.1:0").await;
    let running = desk.start(1, "serve").await;
    let lost = running.token().unwrap();
    let (code, made, _) = desk.run("tokens create anna --role operate --expires 30d").await;
    let token = made.lines().nth(1).unwrap().trim().to_owned();
    assert!(code == Some(0) && made.starts_with("the token anna (role operate) is shown this once:\n"), "{made}");
    assert_eq!(status(running.visitor().post("/api/v1/nothing-here").bearer_auth(&token)).await, 404);
    let (code, made, _) = desk.run("tokens create grafana --role read --json").await;
    let made: Value = serde_json::from_str(&made).unwrap();
    assert!(code == Some(0) && made["token"].as_str().unwrap().starts_with("och_") && made["role"] == "read", "{made}");

    let (code, said, _) = desk.run("tokens revoke admin").await;
    assert!(code == Some(0) && said == "the token admin is revoked; 0 sessions ended\n", "{said}");
    assert_eq!(status(running.visitor().get("/api/v1/nothing-here").bearer_auth(&lost)).await, 401);
    let (_, listed, _) = desk.run("tokens list").await;
    assert!(listed.contains("anna") && listed.contains("grafana") && !listed.contains("admin"), "{listed}");
    assert!(!listed.contains("och_") && !listed.contains(&token[4..]), "{listed}");
    let (_, listed, _) = desk.run("tokens list --json").await;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["database"].as_array().unwrap().len(), 2, "{listed}");

    for (line, expected, complaint) in [
        ("tokens revoke admin", 4, "there is no token admin"),
        ("tokens create anna --role read", 1, "there is a token anna already"),
        ("tokens create anyone --role read", 1, "does not stand for one person"),
        ("tokens create bert", 2, "--role"),
        ("tokens create bert --role admin", 2, "admin"),
        ("tokens create Bert --role read", 2, "not usable"),
        ("tokens create bert --role read --expires 1s", 2, "30d"),
    ] {
        let (code, _, told) = desk.run(line).await;
        assert!(code == Some(expected) && told.contains(complaint), "{line}: {code:?} {told}");
    }
}

#[tokio::test]
async fn without_auth_is_said_aloud_on_this_machine_and_refused_for_others() {
    let desk = Desk::listening("127.0.0.1:0").await;
    let running = desk.start(1, "serve --no-auth").await;
    assert!(running.text().contains("warning: --no-auth: everybody on this machine"), "{}", running.text());
    assert!(running.log().contains("--no-auth: everybody on this machine"), "{}", running.log());
    assert_eq!(running.token(), None);
    assert_eq!(status(running.visitor().post("/api/v1/nothing-here")).await, 404);
    let open = Desk::listening("0.0.0.0:0").await;
    for line in ["serve --no-auth", "work --no-auth", "serve --no-auth --json"] {
        let (code, said, told) = open.run(line).await;
        assert!(code == Some(1) && said.is_empty(), "{said}");
        assert!(told.contains("can be reached from other machines") && told.contains("127.0.0.1"), "{told}");
    }
}
