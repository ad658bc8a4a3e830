//! The server's own note of itself, `postmaster.pid`: takes a cluster, gives the process that runs it, if one does.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::{errno::Errno, sys::signal, unistd::Pid};

use super::PostgresError;

/// A live server of this cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Postmaster {
    pub pid: Pid,
    /// Where it listens; empty while it is starting.
    pub socket_dir: Option<PathBuf>,
}

/// What `postmaster.pid` says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// No server, and no note of one.
    None,
    /// A note of a process that is gone, or is no server of ours: a crash.
    Stale,
    /// A server that lives.
    Live(Postmaster),
}

impl Note {
    /// Reads the note and looks whether its process is a server of this cluster.
    pub fn read(cluster: &Path) -> Result<Self, PostgresError> {
        let file = file_of(cluster);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::None),
            Err(error) => return Err(PostgresError::file("read", &file, error)),
        };
        Ok(match parse(&text) {
            Some((postmaster, dir)) if is_same(&dir, cluster) && is_server_of(postmaster.pid, cluster) => {
                Self::Live(postmaster)
            }
            _ => Self::Stale,
        })
    }
}

pub(super) fn file_of(cluster: &Path) -> PathBuf {
    cluster.join("postmaster.pid")
}

/// Lines: process id, folder of the data, start time, port, folder of the socket, listen address, shared memory, state.
fn parse(text: &str) -> Option<(Postmaster, PathBuf)> {
    let mut lines = text.lines();
    let pid: i32 = lines.next()?.trim().parse().ok()?;
    let dir = PathBuf::from(lines.next()?);
    let socket_dir = lines.nth(2).map(str::trim).filter(|dir| !dir.is_empty()).map(PathBuf::from);
    (pid > 1).then(|| (Postmaster { pid: Pid::from_raw(pid), socket_dir }, dir))
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Process ids come round again, in containers at once: after a restart the noted one is often some other program, for
/// which PostgreSQL would refuse to start for ever. A server works in its data folder, and nothing else does.
fn is_server_of(pid: Pid, cluster: &Path) -> bool {
    if signal::kill(pid, None) == Err(Errno::ESRCH) {
        return false;
    }
    match fs::read_link(format!("/proc/{pid}/cwd")) {
        Ok(dir) => is_same(&dir, cluster),
        // A process that has ended and is not yet buried has no folder; one that is not ours to look at is no child of ours.
        Err(_) if Path::new("/proc/self/cwd").exists() => false,
        // No /proc (macOS): the process lives, and that is all we can know.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str =
        "4711\n/srv/oncehook/postgres\n1790000000\n5432\n/srv/oncehook/socket\n\n 5432001 98310\nready   \n";

    #[test]
    fn the_note_tells_process_folder_and_socket() {
        let (postmaster, dir) = parse(NOTE).unwrap();
        assert_eq!(postmaster.pid, Pid::from_raw(4711));
        assert_eq!(postmaster.socket_dir.as_deref(), Some(Path::new("/srv/oncehook/socket")));
        assert_eq!(dir, Path::new("/srv/oncehook/postgres"));
    }

    #[test]
    fn a_note_that_was_cut_off_names_no_server() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("4711"), None);
        assert_eq!(parse("0\n/srv\n"), None);
        assert_eq!(parse("-1\n/srv\n"), None);
        assert_eq!(parse("4711\n/srv\n").unwrap().0.socket_dir, None);
    }

    #[test]
    fn another_program_under_the_noted_number_is_no_server() {
        let cluster = tempfile::tempdir().unwrap();
        // This test's own process lives, and works somewhere else.
        let note = format!("{}\n{}\n1\n5432\n/tmp\n", std::process::id(), cluster.path().display());
        fs::write(file_of(cluster.path()), note).unwrap();
        assert_eq!(Note::read(cluster.path()).unwrap(), Note::Stale);
    }
}
