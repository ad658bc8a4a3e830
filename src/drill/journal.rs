//! A journal: JSON lines in a file, each in the kernel's hands before its writer goes on. Written before an act and after
//! it, and read by the checker alone.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use serde::{Serialize, de::DeserializeOwned};

/// One file, written by many tasks.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Opens it to append.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.with_context(|| format!("failed to open the journal {}", path.display()))?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Writes one line, whole: the file has no buffer in this process.
    ///
    /// # Errors
    /// When the disk takes no more.
    pub fn write(&self, line: &impl Serialize) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(line).context("failed to write JSON")?;
        bytes.push(b'\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes).context("failed to write a journal")
    }

    /// The same, and on the disk when it returns: where the line itself is the effect's commit.
    ///
    /// # Errors
    /// As [`Journal::write`].
    pub fn commit(&self, line: &impl Serialize) -> anyhow::Result<()> {
        self.write(line)?;
        self.file.lock().unwrap_or_else(PoisonError::into_inner).sync_data().context("failed to sync a journal")
    }
}

/// Reads all lines. A file that is not there has none, and a last line that a crash cut short is none.
///
/// # Errors
/// When the file cannot be read.
pub fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let Ok(file) = File::open(path) else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.with_context(|| format!("failed to read {}", path.display()))?;
        lines.extend(serde_json::from_str(&line));
    }
    Ok(lines)
}
