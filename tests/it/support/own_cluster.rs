//! A PostgreSQL for one test alone, which may be crashed, frozen and lost. It goes away with its value.

use std::{
    fs::{File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use oncehook::postgres::{Embedded, PostgresError, Setup};
use tempfile::TempDir;

use super::{keeper, until::until};

/// A data folder whose server, if one runs, ends with it.
#[derive(Debug)]
pub struct OwnCluster {
    home: TempDir,
    data_dir: PathBuf,
    _alive: File,
}

const PREFIX: &str = "oncehook-own-";
/// Locked while the test runs.
const ALIVE: &str = "alive";

impl OwnCluster {
    /// A data folder with nothing in it.
    pub fn new() -> Self {
        Self::named("data")
    }

    /// A data folder with a new, stopped cluster: a copy of one that is made once, since making one takes seconds.
    pub async fn prepared() -> Self {
        let own = Self::new();
        // Held while copying too: the keeper removes the original at the end.
        let _alone = keeper::lock("prepared.lock").await;
        copy(&prepare_once().await, &own.data_dir);
        own
    }

    /// An empty one under a name of one's own.
    pub fn named(name: &str) -> Self {
        sweep();
        let open_to_pass = Permissions::from_mode(0o711);
        let home = tempfile::Builder::new().prefix(PREFIX).permissions(open_to_pass).tempdir_in("/tmp").unwrap();
        // Locked before it has its name: another test's sweep never sees it free.
        let unnamed = home.path().join("unnamed");
        let alive = File::create(&unnamed).unwrap();
        alive.lock().unwrap();
        std::fs::rename(unnamed, home.path().join(ALIVE)).unwrap();
        let data_dir = home.path().join(name);
        Self { home, data_dir, _alive: alive }
    }

    /// Oncehook's data folder.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// A folder for the test's own files, which goes too.
    pub fn scratch(&self) -> &Path {
        self.home.path()
    }

    /// The set-up of a start: a cluster that cannot be in the data folder stays within the test's own.
    pub fn setup(&self) -> Setup {
        Setup { fallback_root: self.home.path().join("elsewhere"), ..Setup::new(&self.data_dir) }
    }

    /// Starts or adopts the server.
    pub async fn start(&self) -> Result<Embedded, PostgresError> {
        self.setup().start().await
    }

    /// Where the cluster's own files are.
    pub fn cluster_dir(&self) -> PathBuf {
        cluster_dir(&self.data_dir)
    }

    /// The server's process, if it left a note.
    pub fn pid(&self) -> Option<Pid> {
        noted_pid(&self.data_dir)
    }

    /// `pg_ctl stop -m immediate`: everything that was not on disk is lost, and the next start recovers.
    pub async fn crash(&self) {
        self.signal_and_wait(Signal::SIGQUIT).await;
    }

    /// Kills the server's main process, which leaves its note and, for moments, its children behind.
    pub async fn kill(&self) {
        self.signal_and_wait(Signal::SIGKILL).await;
    }

    async fn signal_and_wait(&self, signal: Signal) {
        let pid = self.pid().expect("the server runs");
        kill(pid, signal).expect("the server can be signalled");
        // A dead child of ours has no working folder any more, whether it has been waited for or not.
        let is_gone = async || std::fs::read_link(format!("/proc/{pid}/cwd")).is_err();
        until(&format!("the server {pid} ends after {signal}"), is_gone).await;
    }
}

/// The caller holds the lock.
async fn prepare_once() -> PathBuf {
    let prepared = keeper::prepared_dir();
    if !prepared.exists() {
        let own = OwnCluster::new();
        own.start().await.unwrap().stop().await.unwrap();
        let unfinished = prepared.with_extension("unfinished");
        let _ = std::fs::remove_dir_all(&unfinished);
        copy(&own.data_dir, &unfinished);
        std::fs::rename(&unfinished, &prepared).unwrap();
    }
    prepared
}

/// With owners and modes, which PostgreSQL looks at.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success(), "cp: {status}");
}

fn cluster_dir(data_dir: &Path) -> PathBuf {
    let home = std::fs::read_to_string(data_dir.join("postgres.is-in")).map(PathBuf::from);
    home.unwrap_or_else(|_| data_dir.to_owned()).join("postgres")
}

fn noted_pid(data_dir: &Path) -> Option<Pid> {
    let note = std::fs::read_to_string(cluster_dir(data_dir).join("postmaster.pid")).ok()?;
    Some(Pid::from_raw(note.lines().next()?.parse().ok()?))
}

/// Ends a server and waits for nothing: its folder is removed under it.
fn end_server(data_dir: &Path) {
    let works_in = |pid: &Pid| std::fs::read_link(format!("/proc/{pid}/cwd"));
    if let Some(pid) = noted_pid(data_dir).filter(|pid| works_in(pid).is_ok_and(|dir| dir == cluster_dir(data_dir))) {
        let _ = kill(pid, Signal::SIGQUIT);
    }
}

/// Ends what a test that was killed has left behind.
fn sweep() {
    let homes = std::fs::read_dir("/tmp").unwrap().flatten();
    for home in homes.filter(|home| home.file_name().to_string_lossy().starts_with(PREFIX)).map(|home| home.path()) {
        let is_dead = File::open(home.join(ALIVE)).is_ok_and(|alive| alive.try_lock().is_ok());
        if is_dead {
            std::fs::read_dir(&home).into_iter().flatten().flatten().for_each(|inner| end_server(&inner.path()));
            let _ = std::fs::remove_dir_all(home);
        }
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        end_server(&self.data_dir);
    }
}
