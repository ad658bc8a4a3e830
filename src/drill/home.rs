//! The drill's folder: journals, logs, the data of its PostgreSQL and of each process. Goes away after a PASS.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// The folder, which the checker gets too.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Makes it, in the folder for temporary files. Anybody may pass through, for PostgreSQL does not run as root.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(seed: u64) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("oncehook-drill-{seed}-{}", std::process::id()));
        let made = fs::DirBuilder::new()
            .mode(0o711)
            .create(&path)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o711)))
            .and_then(|()| fs::create_dir(path.join("logs")));
        made.with_context(|| format!("failed to make the folder {}", path.display()))?;
        Ok(Self { path })
    }

    /// Itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file or folder in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where a process logs to.
    pub fn log_of(&self, process: &str) -> PathBuf {
        self.path.join("logs").join(format!("{process}.log"))
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, "failed to remove {}", self.path.display());
        }
    }
}
