//! Who uses the server: takes the data folder, gives locks that the kernel frees when a process dies. It knows nothing
//! of the server itself.
//!
//! `postgres.lock` is held, alone, while one process starts or stops the server. `postgres.users` is held, shared, by
//! every process that uses it. Who leaves and finds nobody else there stops the server.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{PostgresError, place::Place};

/// Longer than a stop may take, and than most crash recoveries.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The right to start or stop the server. Ends when dropped.
#[derive(Debug)]
pub(super) struct Entry {
    _startup: File,
    users_path: PathBuf,
}

/// The mark that this process uses the server.
#[derive(Debug)]
pub(super) struct UsersLock {
    users: File,
}

impl Entry {
    /// Waits for the right to start or stop.
    pub async fn lock(place: &Place) -> Result<Self, PostgresError> {
        let lock = place.data_dir.join("postgres.lock");
        let startup = open(&lock)?;
        let tries = PATIENCE.as_millis() / LOOK_EVERY.as_millis();
        for _ in 0..tries {
            match startup.try_lock() {
                Ok(()) => return Ok(Self { _startup: startup, users_path: place.data_dir.join("postgres.users") }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK_EVERY).await,
                Err(TryLockError::Error(source)) => return Err(PostgresError::file("lock", &lock, source)),
            }
        }
        Err(PostgresError::Busy { cluster: place.cluster.clone(), lock, seconds: PATIENCE.as_secs() })
    }

    /// Becomes a user of the server, and lets others start or stop.
    pub fn enter(self) -> Result<UsersLock, PostgresError> {
        let users = open(&self.users_path)?;
        // Only a leaving process ever holds it alone, and it holds `postgres.lock` too, which is ours now.
        users.lock_shared().map_err(|source| PostgresError::file("lock", &self.users_path, source))?;
        Ok(UsersLock { users })
    }
}

impl UsersLock {
    /// Leaves. The last one gets the right to stop the server.
    pub async fn leave(self, place: &Place) -> Result<Option<Entry>, PostgresError> {
        let entry = Entry::lock(place).await?;
        let failed = |source| PostgresError::file("unlock", &entry.users_path, source);
        self.users.unlock().map_err(failed)?;
        match self.users.try_lock() {
            Ok(()) => Ok(Some(entry)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

fn open(path: &Path) -> Result<File, PostgresError> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.map_err(|source| PostgresError::file("open", path, source))
}
