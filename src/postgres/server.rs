//! The server's process: takes a cluster, gives its socket once it answers; adopts, starts and stops it. The caller holds
//! the start-up lock.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use nix::sys::signal::{Signal, kill};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::process::Child;

use super::{
    Binaries, NAME, PostgresError, connect_options,
    log_tail::{self, LogTail},
    place::Place,
    postmaster::{self, Note, Postmaster},
};
use crate::store::connect;

/// Only names the socket: the folder is ours alone.
pub(super) const PORT: u16 = 5432;

/// Recovery after a crash replays up to `max_wal_size`, which takes minutes on a slow disk.
const READY_WITHIN: Duration = Duration::from_secs(600);
const FAST_WITHIN: Duration = Duration::from_secs(30);
const IMMEDIATE_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const TRIES: usize = 20;

/// Settings that hold whatever the cluster's own files say.
const SETTINGS: &[(&str, &str)] = &[
    ("port", "5432"),
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    // What Oncehook meets and handles by itself (a duplicate key, a cancelled query) is no news for an operator.
    ("log_min_messages", "warning"),
    ("log_min_error_statement", "panic"),
];

/// Takes over a server that still runs, or says that none does. A note that a crash left is removed.
pub(super) async fn adopt(place: &Place) -> Result<Option<PathBuf>, PostgresError> {
    let started_at = Instant::now();
    loop {
        match Note::read(&place.cluster)? {
            Note::None => return Ok(None),
            Note::Stale => {
                let note = postmaster::file_of(&place.cluster);
                std::fs::remove_file(&note).map_err(|source| PostgresError::file("remove", &note, source))?;
                return Ok(None);
            }
            Note::Live(Postmaster { socket_dir: Some(socket_dir), .. }) => match connect_to(&socket_dir).await {
                Ok(()) => return Ok(Some(socket_dir)),
                Err(error) => give_up_or_wait(place, started_at, error).await?,
            },
            Note::Live(_) => give_up_or_wait(place, started_at, sqlx::Error::PoolTimedOut).await?,
        }
    }
}

/// Starts the server and waits until it answers. A server that crashed alone may have left processes behind, which end by
/// themselves within moments and until then keep a new one from starting.
pub(super) async fn start(place: &Place, binaries: &Binaries, connections_max: u16) -> Result<PathBuf, PostgresError> {
    place.make_socket_dir()?;
    let mut tries_left = TRIES;
    loop {
        match start_once(place, binaries, connections_max).await {
            Err(PostgresError::Program { tail, .. }) if tries_left > 0 && tail.contains("shared memory block") => {
                tries_left -= 1;
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            result => return result,
        }
    }
}

async fn start_once(place: &Place, binaries: &Binaries, connections_max: u16) -> Result<PathBuf, PostgresError> {
    let (log, begins_at) =
        log_tail::open(&place.log_file).map_err(|source| PostgresError::file("open", &place.log_file, source))?;
    let failed = |problem: String| PostgresError::Program {
        program: "postgres",
        problem,
        log_file: place.log_file.clone(),
        tail: LogTail::read(&place.log_file, begins_at),
    };
    let errors = log.try_clone().map_err(|source| PostgresError::file("open", &place.log_file, source))?;
    let mut command = place.user.command(&binaries.dir.join("postgres"));
    command.arg("-D").arg(&place.cluster).arg("-c");
    command.arg(format!("unix_socket_directories={}", quote_list_item(&place.socket_dir)));
    command.arg("-c").arg(format!("max_connections={connections_max}"));
    for (name, value) in SETTINGS {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command.current_dir(&place.cluster).stdout(Stdio::from(log)).stderr(Stdio::from(errors));
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    match wait_until_ready(place, &mut child).await? {
        Ok(()) => Ok(place.socket_dir.clone()),
        Err(problem) => Err(failed(problem)),
    }
}

/// Waits for the first connection, or for the child's end, which is the inner error.
async fn wait_until_ready(place: &Place, child: &mut Child) -> Result<Result<(), String>, PostgresError> {
    let started_at = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|source| PostgresError::file("watch", &place.cluster, source))? {
            return Ok(Err(status.to_string()));
        }
        match connect_to(&place.socket_dir).await {
            Ok(()) => return Ok(Ok(())),
            Err(error) => give_up_or_wait(place, started_at, error).await?,
        }
    }
}

async fn give_up_or_wait(place: &Place, started_at: Instant, source: sqlx::Error) -> Result<(), PostgresError> {
    // 57P03: "the database system is starting up". A missing socket and a refused connection mean the same, earlier.
    let is_starting = match &source {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| code == "57P03"),
        _ => false,
    };
    if !is_starting || started_at.elapsed() > READY_WITHIN {
        return Err(PostgresError::Refused { source, log_file: place.log_file.clone() });
    }
    tokio::time::sleep(LOOK_EVERY).await;
    Ok(())
}

async fn connect_to(socket_dir: &Path) -> Result<(), sqlx::Error> {
    let connection: PgConnection = connect_options(socket_dir, "postgres").connect().await?;
    connection.close().await
}

/// Makes the database where it is missing.
pub(super) async fn ensure_database(place: &Place, socket_dir: &Path) -> Result<(), PostgresError> {
    let refused = |source| PostgresError::Refused { source, log_file: place.log_file.clone() };
    let mut connection = connect_options(socket_dir, "postgres").connect().await.map_err(refused)?;
    connect::create_database_once(&mut connection, NAME).await.map_err(refused)?;
    connection.close().await.map_err(refused)
}

/// Stops the server: fast, and where that does not end, at once.
pub(super) async fn stop(place: &Place) -> Result<(), PostgresError> {
    for (signal, within) in [(Signal::SIGINT, FAST_WITHIN), (Signal::SIGQUIT, IMMEDIATE_WITHIN)] {
        let Note::Live(postmaster) = Note::read(&place.cluster)? else { return Ok(()) };
        // It may have ended by itself in between, which is what we want.
        let _ = kill(postmaster.pid, signal);
        if has_ended(place, within).await? {
            return Ok(());
        }
        tracing::warn!(pid = postmaster.pid.as_raw(), %signal, "PostgreSQL is still there {} s later", within.as_secs());
    }
    Err(PostgresError::Program {
        program: "postgres",
        problem: "it does not stop, neither on SIGINT nor on SIGQUIT".to_owned(),
        log_file: place.log_file.clone(),
        tail: LogTail::read(&place.log_file, 0),
    })
}

/// Stops the server at once, as a crash does.
pub(super) async fn crash(place: &Place) -> Result<i32, PostgresError> {
    let failed = |problem: &str| PostgresError::Program {
        program: "postgres",
        problem: problem.to_owned(),
        log_file: place.log_file.clone(),
        tail: LogTail::read(&place.log_file, 0),
    };
    let Note::Live(postmaster) = Note::read(&place.cluster)? else { return Err(failed("it does not run")) };
    let _ = kill(postmaster.pid, Signal::SIGQUIT);
    match has_ended(place, IMMEDIATE_WITHIN).await? {
        true => Ok(postmaster.pid.as_raw()),
        false => Err(failed("it does not stop on SIGQUIT")),
    }
}

async fn has_ended(place: &Place, within: Duration) -> Result<bool, PostgresError> {
    let started_at = Instant::now();
    while started_at.elapsed() < within {
        if !matches!(Note::read(&place.cluster)?, Note::Live(_)) {
            return Ok(true);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(false)
}

/// `unix_socket_directories` is a list with commas: an item with odd characters stands in double quotes.
fn quote_list_item(dir: &Path) -> String {
    format!("\"{}\"", dir.display().to_string().replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_commas_and_quotes_is_one_item() {
        assert_eq!(quote_list_item(Path::new("/srv/a, \"b\"")), r#""/srv/a, ""b""""#);
    }

    #[test]
    fn durability_is_never_left_to_the_clusters_own_files() {
        for name in ["fsync", "synchronous_commit", "full_page_writes"] {
            assert!(SETTINGS.contains(&(name, "on")), "{name}");
        }
    }
}
