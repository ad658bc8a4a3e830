//! Makes a new cluster: takes its place and the binaries, gives a finished cluster or none. Never touches one that is
//! there.

use std::{fs, process::Stdio};

use super::{Binaries, NAME, PostgresError, log_tail, log_tail::LogTail, place::Place};

/// Runs `initdb` in a folder beside the cluster's, and moves it to its place when it is whole: a kill in the middle
/// leaves nothing that looks like a cluster. The caller holds the start-up lock.
pub(super) async fn create(place: &Place, binaries: &Binaries) -> Result<(), PostgresError> {
    let unfinished = place.cluster.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(|source| PostgresError::file("remove", &unfinished, source))?;
    }
    super::place::make_dir(&unfinished, 0o700)?;
    place.user.give(&unfinished).map_err(|source| PostgresError::file("chown", &unfinished, source))?;
    tracing::info!(cluster = %place.cluster.display(), version = binaries.major, "making a new PostgreSQL cluster");
    let (log, begins_at) =
        log_tail::open(&place.log_file).map_err(|source| PostgresError::file("open", &place.log_file, source))?;
    let errors = log.try_clone().map_err(|source| PostgresError::file("open", &place.log_file, source))?;

    let status = place
        .user
        .command(&binaries.dir.join("initdb"))
        .arg("--pgdata")
        .arg(&unfinished)
        // The C locale is on every machine and sorts by bytes, so that indexes survive a change of the system's locales.
        .args(["--encoding=UTF8", "--locale=C", "--data-checksums", "--no-instructions"])
        // Who may connect is decided by the socket's folder, which only the server's user can enter.
        .args(["--auth-local=trust", "--auth-host=reject"])
        .arg(format!("--username={NAME}"))
        .current_dir(&unfinished)
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(errors))
        .status()
        .await;

    let problem = match status {
        Ok(status) if status.success() => return publish(place, &unfinished),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let tail = LogTail::read(&place.log_file, begins_at);
    Err(PostgresError::Program { program: "initdb", problem, log_file: place.log_file.clone(), tail })
}

fn publish(place: &Place, unfinished: &std::path::Path) -> Result<(), PostgresError> {
    let renamed = fs::rename(unfinished, &place.cluster);
    renamed.map_err(|source| PostgresError::file("make the folder", &place.cluster, source))?;
    let home = place.cluster.parent().expect("the cluster's folder has a name, and so a parent");
    // The rename itself must survive a power cut, or the next start would make a second, empty cluster.
    let synced = fs::File::open(home).and_then(|dir| dir.sync_all());
    synced.map_err(|source| PostgresError::file("sync", home, source))
}
