//! `oncehook drill` as a user runs it, in its shortest form.

use std::{path::Path, process::Stdio};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

/// A folder that PostgreSQL's user may pass through.
fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let open_to_pass = std::fs::Permissions::from_mode(0o711);
    tempfile::Builder::new().prefix("oncehook-drills-").permissions(open_to_pass).tempdir_in("/tmp").unwrap()
}

fn drill(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncehook"));
    command.args(["drill", "--minutes", "0.1", "--seed", "5"]).env("TMPDIR", folder).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Processes that work in the folder, or were started with a path in it.
fn left_over(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let lines = processes.filter_map(|process| std::fs::read_to_string(process.join("cmdline")).ok());
    lines.filter(|line| line.contains(name)).map(|line| line.replace('\0', " ")).collect()
}

#[tokio::test]
async fn a_short_drill_passes_and_leaves_nothing_behind() {
    let folder = folder();
    let output = drill(folder.path()).arg("--json").output().await.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&report["verdict"], &report["seed"], &report["home"]), (&"PASS".into(), &5.into(), &Value::Null));
    assert_eq!(report["scenes"].as_array().unwrap().len(), 10);
    assert!(report["checks"].as_array().unwrap().len() > 15);
    for fault in ["kill9", "sigterm", "sigstop", "pg_immediate", "backend_kill"] {
        assert!(report["load"]["faults"][fault].as_u64().unwrap() > 0, "{fault}: {report:#}");
    }
    assert!(is_empty(folder.path()));
    assert_eq!(left_over(folder.path()), Vec::<String>::new());
}

#[tokio::test]
async fn an_interrupted_drill_leaves_nothing_behind() {
    let folder = folder();
    let mut drill = drill(folder.path()).spawn().unwrap();
    let mut lines = BufReader::new(drill.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("-- sending") {
            break;
        }
    }
    assert!(!left_over(folder.path()).is_empty(), "a drill under way was not found");
    kill(Pid::from_raw(drill.id().unwrap().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = drill.wait_with_output().await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("interrupted"), "{told}");
    assert!(is_empty(folder.path()));
    assert_eq!(left_over(folder.path()), Vec::<String>::new());
}
