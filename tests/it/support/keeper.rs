//! The process that keeps the tests' PostgreSQL: started by the first test, gone when no test has used the server for a
//! while. It is this same test binary, so that nothing else needs to be installed.

use std::{
    fs::{File, OpenOptions},
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use oncehook::postgres::Setup;

use super::until::until;

/// Longer than the pause between the test binaries of one run, shorter than anybody minds.
const IDLE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
const KEEPER_DIR: &str = "ONCEHOOK_TEST_KEEPER_DIR";

/// Holds locks, the state and the keeper's log. Removed by `cargo clean`.
pub fn dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("test-cluster")
}

/// A cluster to copy, see `own_cluster.rs`. It goes with the server, so that it is never older than the installed version.
pub fn prepared_dir() -> PathBuf {
    dir().join("prepared")
}

/// Waits for a lock of this name; it is free again when the file is dropped.
pub async fn lock(name: &str) -> File {
    std::fs::create_dir_all(dir()).unwrap();
    let file = open(&dir().join(name));
    let wait = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
    let waited = tokio::time::timeout(Duration::from_secs(180), wait).await;
    waited.expect("no other test holds it for longer than this").unwrap().expect("files can be locked")
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("the target folder can be written")
}

/// Marks this process as a user of the server until the file is dropped. The caller holds the start-up lock.
pub fn enter() -> File {
    let users = open(&dir().join("users"));
    users.lock_shared().expect("files can be locked");
    users
}

/// Gives the server's URL. The caller holds the start-up lock, and is marked as a user.
pub async fn find_or_start() -> String {
    let dir = &dir();
    let is_kept = open(&dir.join("keeper.lock")).try_lock().is_err();
    if is_kept && let Some((_, url)) = read_state(dir) {
        return url;
    }
    let _ = std::fs::remove_file(dir.join("ready"));
    spawn_keeper(dir);
    let log = dir.join("keeper.log");
    until(&format!("the keeper starts a server; see {}", log.display()), async || dir.join("ready").exists()).await;
    read_state(dir).expect("a keeper that is ready has written where").1
}

#[expect(clippy::zombie_processes, reason = "the keeper outlives every test, so that none of them can wait for it")]
fn spawn_keeper(dir: &Path) {
    let log = File::create(dir.join("keeper.log")).expect("the target folder can be written");
    Command::new(std::env::current_exe().expect("this is a program"))
        .args(["--exact", "support::keeper::keeps_the_server_while_tests_use_it", "--ignored", "--nocapture"])
        .env(KEEPER_DIR, dir)
        // Out of the run's process group: a Ctrl-C or a time-out that kills the tests lets the keeper tidy up.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("an open file can be shared"))
        .stderr(log)
        .spawn()
        .expect("this program can be started again");
}

/// The data folder, and the URL.
fn read_state(dir: &Path) -> Option<(PathBuf, String)> {
    let state = std::fs::read_to_string(dir.join("state")).ok()?;
    let (data_dir, url) = state.trim_end().split_once('\n')?;
    Some((PathBuf::from(data_dir), url.to_owned()))
}

#[tokio::test]
#[ignore = "not a test: the process that keeps the server for the tests"]
#[expect(clippy::disallowed_methods, reason = "the variable tells the keeper from a person who runs ignored tests")]
async fn keeps_the_server_while_tests_use_it() {
    let Some(dir) = std::env::var_os(KEEPER_DIR).map(PathBuf::from) else { return };
    let keeper = open(&dir.join("keeper.lock"));
    // An earlier one may be about to end.
    keeper.lock().expect("files can be locked");
    let data_dir = data_dir(&dir);
    // Before the start, so that the next keeper finds a server that this one could not tidy up.
    std::fs::write(dir.join("state"), format!("{}\n", data_dir.display())).expect("the state can be written");
    let setup = Setup { connections_max: 500, ..Setup::new(&data_dir) };
    let embedded = setup.start().await.expect("PostgreSQL starts");
    std::fs::write(dir.join("state"), format!("{}\n{}\n", data_dir.display(), embedded.url())).expect("as before");
    std::fs::write(dir.join("ready"), "").expect("as before");

    let _startup = wait_until_idle(&dir).await;
    embedded.stop().await.expect("PostgreSQL stops");
    let _ = std::fs::remove_file(dir.join("state"));
    let _prepared = lock("prepared.lock").await;
    let _ = std::fs::remove_dir_all(prepared_dir());
    std::fs::remove_dir_all(data_dir.parent().expect("it is in a folder of its own")).expect("the cluster is removed");
}

/// The folder of an earlier keeper that was killed, or a new one: in /tmp, where every user may pass (as root, the server
/// runs as another one), and where the path of the socket is short.
fn data_dir(dir: &Path) -> PathBuf {
    let state = std::fs::read_to_string(dir.join("state")).unwrap_or_default();
    if let Some(earlier) = state.lines().next().map(PathBuf::from).filter(|earlier| earlier.is_dir()) {
        return earlier;
    }
    let home = tempfile::Builder::new()
        .prefix("oncehook-tests-")
        .permissions(std::fs::Permissions::from_mode(0o711))
        .tempdir_in("/tmp")
        .expect("/tmp can be written");
    home.keep().join("data")
}

/// Waits until no test has used the server for a while; gives the lock that keeps new ones from looking for it.
async fn wait_until_idle(dir: &Path) -> File {
    let users = open(&dir.join("users"));
    let startup = open(&dir.join("lock"));
    let mut used_at = Instant::now();
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        look.tick().await;
        let is_starting = startup.try_lock().is_err();
        let is_used = users.try_lock().is_err();
        if !is_used {
            users.unlock().expect("files can be unlocked");
        }
        if is_starting || is_used {
            used_at = Instant::now();
        }
        if used_at.elapsed() >= IDLE {
            return startup;
        }
        if !is_starting {
            startup.unlock().expect("files can be unlocked");
        }
    }
}
