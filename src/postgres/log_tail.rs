//! The server's log: takes the file, gives its last words, bounded, for an error message.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// At the start of a server, a log longer than this becomes `postgres.log.1`, and the one before goes.
const KEPT_BYTES: u64 = 4 * 1024 * 1024;
const TAIL_BYTES: u64 = 4096;
const TAIL_LINES: usize = 10;

/// The last lines that a program wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail(Vec<String>);

/// Opens the log for appending, readable by us only, and says where this run's words begin.
pub(super) fn open(path: &Path) -> io::Result<(File, u64)> {
    if std::fs::metadata(path).is_ok_and(|log| log.len() > KEPT_BYTES) {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let begins_at = file.metadata()?.len();
    Ok((file, begins_at))
}

impl LogTail {
    /// Reads what was written since `begins_at`, at most the last lines. An unreadable log has no last words.
    pub(super) fn read(path: &Path, begins_at: u64) -> Self {
        Self(Self::try_read(path, begins_at).unwrap_or_default())
    }

    fn try_read(path: &Path, begins_at: u64) -> io::Result<Vec<String>> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(begins_at.max(end.saturating_sub(TAIL_BYTES)).min(end)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text.lines().map(|line| line.trim_end().to_owned()).collect();
        Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec())
    }

    pub(super) fn contains(&self, words: &str) -> bool {
        self.0.iter().any(|line| line.contains(words))
    }
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(" (and it is silent)");
        }
        f.write_str(", which ends:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_holds_the_last_lines_of_this_run_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("postgres.log");
        std::fs::write(&path, "an older run\n").unwrap();
        let (mut file, begins_at) = open(&path).unwrap();
        for line in 0..50 {
            io::Write::write_all(&mut file, format!("line {line}\n").as_bytes()).unwrap();
        }
        let tail = LogTail::read(&path, begins_at);
        assert_eq!(tail.0.len(), TAIL_LINES);
        assert_eq!(tail.0.last().unwrap(), "line 49");
        assert!(!tail.contains("older"));
    }

    #[test]
    fn a_long_log_is_put_aside_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("postgres.log");
        std::fs::write(&path, vec![b'x'; usize::try_from(KEPT_BYTES).unwrap() + 1]).unwrap();
        let (_, begins_at) = open(&path).unwrap();
        assert_eq!(begins_at, 0);
        assert!(dir.path().join("postgres.log.1").exists());
    }
}
