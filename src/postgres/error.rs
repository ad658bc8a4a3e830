//! What can go wrong with the embedded server. Each message says what, where, and what to do instead.

use std::path::{Path, PathBuf};

use super::{binaries::Binaries, log_tail::LogTail};

/// Why there is no embedded server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// No server binaries on this machine.
    #[error(
        "no PostgreSQL server binaries (14 to 18) found. Looked in: {searched}. Install them:\n  \
         Debian, Ubuntu: apt-get install postgresql (it starts a server of its own, which does no harm)\n  \
         Fedora, RHEL:   dnf install postgresql-server postgresql-contrib\n  \
         macOS:          brew install postgresql@17\n\
         or set database.url to use your own PostgreSQL"
    )]
    NoBinaries {
        /// Every folder that was tried.
        searched: String,
    },
    /// The cluster was made by another major version.
    #[error(
        "the data folder {} was made by PostgreSQL {wanted}, and the server binaries found here are: {found}. Install \
         postgresql-{wanted}, or move the data to a newer version with pg_upgrade",
        .cluster.display()
    )]
    OtherMajor {
        /// The cluster's folder.
        cluster: PathBuf,
        /// Its major version.
        wanted: u32,
        /// Versions and folders of the binaries.
        found: String,
    },
    /// A file or folder that cannot be used.
    #[error("cannot {action} {}: {source}", .path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder that is there and is not ours.
    #[error("{} {problem}", .path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// Root, and nobody to become.
    #[error(
        "PostgreSQL does not run as root, and there is neither a user \"postgres\" nor \"nobody\" to run it as. Make one \
         (useradd --system postgres), or run Oncehook as another user"
    )]
    NoUser,
    /// A program that did not do its work.
    #[error("{program} failed: {problem}. Its log is {}{tail}", .log_file.display())]
    Program {
        /// `initdb` or `postgres`.
        program: &'static str,
        /// How it ended.
        problem: String,
        /// Where all of its words are.
        log_file: PathBuf,
        /// The last of them.
        tail: LogTail,
    },
    /// The server is up and refuses us.
    #[error("the embedded PostgreSQL does not let us in: {source}. Its log is {}", .log_file.display())]
    Refused {
        /// Why.
        source: sqlx::Error,
        /// Where the server says more.
        log_file: PathBuf,
    },
    /// Another Oncehook holds the start-up lock for too long.
    #[error(
        "another Oncehook has been starting or stopping the PostgreSQL in {} for {seconds} s. See what holds {} (fuser), \
         and try again",
        .cluster.display(), .lock.display()
    )]
    Busy {
        /// The cluster's folder.
        cluster: PathBuf,
        /// The lock.
        lock: PathBuf,
        /// How long we waited.
        seconds: u64,
    },
}

impl PostgresError {
    pub(super) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }

    pub(super) fn other_major(cluster: &Path, wanted: u32, found: &[Binaries]) -> Self {
        let found = match found {
            [] => "none".to_owned(),
            some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        Self::OtherMajor { cluster: cluster.to_owned(), wanted, found }
    }
}
