//! Finds PostgreSQL server binaries: takes folders to look in, gives those that hold a server of a version we know.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use tokio::process::Command;

use super::PostgresError;

/// The oldest version with all that we use, and the newest that was tried.
const MAJORS: std::ops::RangeInclusive<u32> = 14..=18;

/// One installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder with `postgres` and `initdb`.
    pub dir: PathBuf,
    /// The major version.
    pub major: u32,
}

/// Folders that may hold server binaries, the preferred ones first.
#[derive(Debug, Clone)]
pub struct SearchPaths(pub Vec<PathBuf>);

impl SearchPaths {
    /// `PATH`, and where Debian, the PostgreSQL project's RPMs and Homebrew put them.
    #[must_use]
    pub fn usual() -> Self {
        #[expect(clippy::disallowed_methods, reason = "PATH is no setting of Oncehook's: it says where programs are")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect();
        dirs.extend(children("/usr/lib/postgresql", ""));
        dirs.extend(children("/usr", "pgsql-"));
        dirs.extend(children("/opt/homebrew/opt", "postgresql@"));
        dirs.extend(children("/usr/local/opt", "postgresql@"));
        Self(dirs)
    }

    /// Every usable server, in the order of the folders.
    pub(super) async fn find(&self) -> Vec<Binaries> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for dir in &self.0 {
            let is_complete = dir.join("postgres").is_file() && dir.join("initdb").is_file();
            let Some(real) = is_complete.then(|| dir.canonicalize().ok()).flatten() else { continue };
            if !seen.insert(real) {
                continue;
            }
            if let Some(major) = version_of(&dir.join("postgres")).await.filter(|major| MAJORS.contains(major)) {
                found.push(Binaries { dir: dir.clone(), major });
            }
        }
        found
    }
}

/// `{parent}/{prefix}*/bin`, in the order of their names.
fn children(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path().join("bin"))
        .collect();
    dirs.sort();
    dirs
}

async fn version_of(postgres: &Path) -> Option<u32> {
    let output = Command::new(postgres).arg("--version").output().await.ok()?;
    parse_major(&String::from_utf8_lossy(&output.stdout))
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, and `18beta1` likewise.
fn parse_major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("(PostgreSQL) ")?;
    let digits = number.find(|c: char| !c.is_ascii_digit()).map_or(number, |end| &number[..end]);
    digits.parse().ok()
}

/// The newest of them, for a new cluster.
pub(super) fn newest(found: Vec<Binaries>, search: &SearchPaths) -> Result<Binaries, PostgresError> {
    // Of two installations of one version the one found first wins: PATH says what the operator prefers.
    found.into_iter().rev().max_by_key(|binaries| binaries.major).ok_or_else(|| {
        let searched = search.0.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ");
        PostgresError::NoBinaries { searched }
    })
}

/// The one that an existing cluster needs.
pub(super) fn of_major(found: Vec<Binaries>, major: u32, cluster: &Path) -> Result<Binaries, PostgresError> {
    match found.iter().find(|binaries| binaries.major == major) {
        Some(binaries) => Ok(binaries.clone()),
        None => Err(PostgresError::other_major(cluster, major, &found)),
    }
}

impl fmt::Display for Binaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.major, self.dir.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_each_packager_prints() {
        assert_eq!(parse_major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(parse_major("postgres (PostgreSQL) 17.2\n"), Some(17));
        assert_eq!(parse_major("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(parse_major("postgres (EnterpriseDB) 15"), None);
    }

    #[test]
    fn a_new_cluster_takes_the_newest_version_and_of_equals_the_first() {
        let binaries = |dir: &str, major| Binaries { dir: PathBuf::from(dir), major };
        let found = vec![binaries("/a", 15), binaries("/b", 17), binaries("/c", 17)];
        assert_eq!(newest(found, &SearchPaths(Vec::new())).unwrap(), binaries("/b", 17));
    }
}
