//! The real `oncehook` as a process of its own: started, looked at, told to stop, killed.

use std::{
    fs::File,
    net::SocketAddr,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oncehook::clock::Clock;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStdout, Command},
};

use super::{
    app::{GITHUB_SECRET, STANDARD_SECRET, STRIPE_SECRET},
    sender::Sender,
    until::{in_time, until},
};

/// A configuration, a data folder and a database, for any number of processes at a time or one after another.
pub struct Site {
    folder: TempDir,
    database_url: Option<String>,
    started: AtomicU32,
}

/// A running process. Dropping it kills it.
pub struct Process {
    child: Child,
    addresses: Option<serde_json::Value>,
    log: PathBuf,
    // Closed, it would make the process's prints fail.
    _stdout: BufReader<ChildStdout>,
}

impl Site {
    /// On a database of the test's.
    pub fn new(config: &str, database_url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        Self::at(config, folder, &data_dir, Some(database_url.to_owned()))
    }

    /// On the embedded PostgreSQL in `data_dir`.
    pub fn embedded(config: &str, data_dir: &Path) -> Self {
        Self::at(config, tempfile::tempdir().unwrap(), data_dir, None)
    }

    fn at(config: &str, folder: TempDir, data_dir: &Path, database_url: Option<String>) -> Self {
        let text = format!("data_dir = {:?}\n{config}", data_dir.to_str().unwrap());
        std::fs::write(folder.path().join("oncehook.toml"), text).unwrap();
        Self { folder, database_url, started: AtomicU32::new(0) }
    }

    /// Starts `oncehook` with these arguments, and waits until it is ready.
    pub async fn start(&self, arguments: &[&str]) -> Process {
        let process = self.start_doomed(arguments, "").await;
        assert!(process.addresses.is_some(), "it did not start:\n{}", process.log());
        process
    }

    /// Starts `oncehook` with crash points armed, and waits until it is ready or gone.
    pub async fn start_doomed(&self, arguments: &[&str], failpoints: &str) -> Process {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let log = self.folder.path().join(format!("log-{number}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_oncehook"));
        command.args(arguments).arg("--json").arg("--config").arg(self.folder.path().join("oncehook.toml"));
        command.env_remove("DATABASE_URL").envs(self.database_url.iter().map(|url| ("DATABASE_URL", url)));
        command.env("GITHUB_SECRET", GITHUB_SECRET).env("STRIPE_SECRET", STRIPE_SECRET);
        command.env("STANDARD_SECRET", STANDARD_SECRET).env("FAILPOINTS", failpoints);
        command.current_dir(self.folder.path()).kill_on_drop(true).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        in_time("oncehook is ready or has ended", stdout.read_line(&mut line)).await.unwrap();
        let addresses = if line.is_empty() { None } else { Some(serde_json::from_str(&line).unwrap()) };
        Process { child, addresses, log, _stdout: stdout }
    }
}

impl Process {
    /// Where it takes webhooks.
    pub fn intake(&self) -> SocketAddr {
        let addresses = self.addresses.as_ref().unwrap_or_else(|| panic!("it never was ready:\n{}", self.log()));
        addresses["intake"].as_str().expect("it takes webhooks").parse().unwrap()
    }

    /// Someone who posts to it.
    pub fn sender(&self) -> Sender {
        Sender::to(self.intake(), Clock::system())
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until it has killed itself at a crash point.
    pub async fn until_killed(mut self) {
        let status = self.ended().await;
        assert_eq!(status.signal(), Some(9), "it ended otherwise: {status}\n{}", self.log());
    }

    /// `kill -9`.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it has stopped itself at a crash point.
    pub async fn until_stopped(&self) {
        let stat = format!("/proc/{}/stat", self.pid());
        // The state comes behind the name in parentheses.
        until("the process is stopped", async || std::fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    }

    /// SIGCONT.
    pub fn go_on(&self) {
        kill(self.pid(), Signal::SIGCONT).unwrap();
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        kill(self.pid(), Signal::SIGTERM).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().expect("it has not been waited for").try_into().unwrap())
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> ExitStatus {
        in_time("the process ends", self.child.wait()).await.unwrap()
    }

    /// Stops it in good order.
    pub async fn stop(mut self) {
        self.terminate();
        let status = self.ended().await;
        assert!(status.success(), "it stopped with {status}:\n{}", self.log());
    }
}
