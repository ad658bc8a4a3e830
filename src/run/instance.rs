//! Who this process is, and which processes before it died. Each process holds a lock on a file of its own in
//! `{data_dir}/instances` for as long as it lives; the kernel drops the lock with the process, however it ends. What a
//! dead process held in the database is set free at the next start beside it, without waiting for leases to run out.
//!
//! A file lock and no advisory lock of PostgreSQL: behind PgBouncer a session belongs to nobody.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use nix::fcntl::{Flock, FlockArg};
use sqlx::PgPool;
use ulid::Ulid;

use crate::{
    crash_point::crash_point,
    store::{self, instances},
};

/// The name of one process's life: `host/pid/ulid`. The names of its workers, and its leases, begin with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceName(String);

impl InstanceName {
    fn new(ulid: Ulid) -> Self {
        let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
        Self(format!("{}/{}/{ulid}", host.as_deref().unwrap_or("unknown-host"), std::process::id()))
    }

    /// The name of one of its workers.
    #[must_use]
    pub fn worker(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }

    /// What the names of all its workers begin with.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}/", self.0)
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// This process's life, shown to its successors by a locked file. Dropping it ends the lock and leaves the file, as a crash
/// does: the next start then sets free what it held.
#[derive(Debug)]
pub struct Instance {
    name: InstanceName,
    path: PathBuf,
    _lock: Flock<File>,
}

/// A process that is no more.
#[derive(Debug)]
pub struct DeadInstance {
    name: InstanceName,
    path: PathBuf,
    // Held until it is buried, so that two processes that start together do not both do it.
    _lock: Flock<File>,
}

impl Instance {
    /// Begins this process's life.
    ///
    /// # Errors
    /// When the folder `{data_dir}/instances` cannot be made or written.
    pub fn begin(data_dir: &Path) -> io::Result<Self> {
        let folder = folder(data_dir);
        fs::create_dir_all(&folder)?;
        let ulid = Ulid::generate();
        let name = InstanceName::new(ulid);
        // Locked and written before it gets the name that successors look for: never may they see it unlocked.
        let draft = folder.join(format!("{ulid}.new"));
        let file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
        let mut lock =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| io::Error::from(errno))?;
        lock.write_all(name.0.as_bytes())?;
        lock.sync_all()?;
        let path = folder.join(format!("{ulid}.lock"));
        fs::rename(&draft, &path)?;
        Ok(Self { name, path, _lock: lock })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &InstanceName {
        &self.name
    }

    /// Ends this process's life in good order: nothing is left to set free.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Its locked file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The processes that died with this data folder.
///
/// # Errors
/// When the folder cannot be read. A folder that is not there yet has no dead.
pub fn find_dead(data_dir: &Path) -> io::Result<Vec<DeadInstance>> {
    let entries = match fs::read_dir(folder(data_dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut dead = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "lock") {
            dead.extend(lock_if_dead(path)?);
        }
    }
    Ok(dead)
}

fn lock_if_dead(path: PathBuf) -> io::Result<Option<DeadInstance>> {
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(mut lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
        return Ok(None); // It lives, or somebody else is burying it.
    };
    let mut name = String::new();
    lock.read_to_string(&mut name)?;
    Ok(Some(DeadInstance { name: InstanceName(name), path, _lock: lock }))
}

/// Sets free what a dead process held, and only that: its leases end now, its jobs go back on the queue.
///
/// # Errors
/// Those of the database. The file then stays for the next start.
pub async fn bury(pool: &PgPool, dead: DeadInstance) -> store::Result<()> {
    let (leases, jobs) = set_free(pool, &dead.name).await?;
    tracing::info!(instance = %dead.name, leases, jobs, "set free what a process that died had held");
    let _ = fs::remove_file(&dead.path);
    Ok(())
}

/// Ends the leases of an instance and puts its jobs back. Returns how many of each.
pub(super) async fn set_free(pool: &PgPool, name: &InstanceName) -> store::Result<(u64, u64)> {
    let prefix = name.prefix();
    // A file that was cut short names nobody; its process's leases run out by themselves.
    if prefix.len() <= 1 {
        return Ok((0, 0));
    }
    let mut tx = pool.begin().await?;
    let leases = instances::end_leases(&mut tx, &prefix).await?;
    let jobs = instances::release_jobs(&mut tx, &prefix).await?;
    crash_point("before_burial")?;
    tx.commit().await?;
    Ok((leases, jobs))
}

fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("instances")
}
