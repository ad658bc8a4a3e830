//! A terminal in a folder with a configuration, at which `oncehook` is run as its own process.

use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use super::app::{GITHUB_SECRET, STANDARD_SECRET, STRIPE_SECRET};

/// Two sources, and a route that logs.
pub const CONFIG: &str = r#"
[sources.github]
provider = "github"
secrets = [{ env = "GITHUB_SECRET" }]
[sources.stripe]
provider = "stripe"
secrets = [{ generated = true }]
[destinations.demo]
kind = "log"
[[routes]]
name = "github-demo"
source = "github"
events = ["*"]
destination = "demo"
"#;

/// The terminal. It has no more environment than it needs.
pub struct Terminal {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Terminal {
    /// With the configuration above, on this database.
    pub fn on(database_url: &str) -> Self {
        Self::with_config(CONFIG, database_url)
    }

    /// With another configuration, on this database.
    pub fn with_config(config: &str, database_url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("oncehook.toml"), config).unwrap();
        let terminal = Self { folder, variables: vec![] };
        let terminal = terminal.with("ONCEHOOK_CONFIG", "oncehook.toml").with("DATABASE_URL", database_url);
        let terminal = terminal.with("GITHUB_SECRET", GITHUB_SECRET).with("STRIPE_SECRET", STRIPE_SECRET);
        terminal.with("STANDARD_SECRET", STANDARD_SECRET).with("PATH", "/usr/bin:/bin")
    }

    /// On a machine that has neither configuration nor database, only the way to an appliance elsewhere.
    pub fn elsewhere(url: &str) -> Self {
        let terminal = Self { folder: tempfile::tempdir().unwrap(), variables: vec![] };
        terminal.with("ONCEHOOK_URL", url).with("DATABASE_URL", "postgres://127.0.0.1:1/none")
    }

    /// With one more variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A file in its folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// `oncehook` with these words, ready to be started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_oncehook"));
        command.args(words);
        command
    }

    /// Another program, in the same place.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env_clear().envs(self.variables.iter().cloned());
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs a line; no word of it has a blank.
    pub async fn run(&self, line: &str) -> Output {
        self.command(&line.split_whitespace().collect::<Vec<_>>()).output().await.unwrap()
    }

    /// What a command prints, which must succeed.
    pub async fn stdout(&self, line: &str) -> String {
        let output = self.run(line).await;
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same as JSON.
    pub async fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.stdout(&format!("{line} --json")).await).unwrap()
    }

    /// The exit code of a command, and its complaint.
    pub async fn complaint(&self, line: &str) -> (i32, String) {
        let output = self.run(line).await;
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

/// What stands under `key` in each line of a list.
pub fn all<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|line| line[key].as_str().unwrap()).collect()
}
