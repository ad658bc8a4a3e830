//! The embedded PostgreSQL: takes a data folder, gives a running server in it. It never listens on the network.
//!
//! The server is a child that outlives us when we are killed. Whoever comes next adopts it; whoever leaves last stops
//! it. So `serve`, `work` and the commands of an operator may come and go over one data folder in any order.

mod binaries;
mod child_user;
mod error;
mod initdb;
mod log_tail;
mod place;
mod postmaster;
mod server;
mod users_lock;

use std::path::{Path, PathBuf};

use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};

pub use self::{
    binaries::{Binaries, SearchPaths},
    error::PostgresError,
};
use self::{
    child_user::ChildUser,
    place::Place,
    users_lock::{Entry, UsersLock},
};

/// The database user, and the name of the database.
const NAME: &str = "oncehook";

/// A way into the running server. Dropping it without [`Embedded::stop`] leaves the server running.
#[derive(Debug)]
pub struct Embedded {
    place: Place,
    socket_dir: PathBuf,
    users: UsersLock,
    is_adopted: bool,
}

/// What can be set before the start. [`Embedded::start`] takes the defaults.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where Oncehook keeps its files; made if missing.
    pub data_dir: PathBuf,
    /// Where to look for server binaries.
    pub search: SearchPaths,
    /// Where a cluster goes when we are root and the server's user cannot enter `data_dir`.
    pub fallback_root: PathBuf,
    /// Connections that the server takes, over all processes of this machine.
    pub connections_max: u16,
}

impl Setup {
    /// The defaults: every usual place for binaries, and `/var/lib/oncehook` as the fallback.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            search: SearchPaths::usual(),
            fallback_root: PathBuf::from("/var/lib/oncehook"),
            connections_max: 100,
        }
    }

    /// Makes sure that the server runs, and enters it.
    ///
    /// # Errors
    /// As [`Embedded::start`].
    pub async fn start(self) -> Result<Embedded, PostgresError> {
        let place = Place::choose(&self.data_dir, &self.fallback_root).await?;
        let entry = Entry::lock(&place).await?;
        let (socket_dir, is_adopted) = match server::adopt(&place).await? {
            Some(socket_dir) => (socket_dir, true),
            None => (self.start_server(&place).await?, false),
        };
        server::ensure_database(&place, &socket_dir).await?;
        let users = entry.enter()?;
        Ok(Embedded { place, socket_dir, users, is_adopted })
    }

    async fn start_server(&self, place: &Place) -> Result<PathBuf, PostgresError> {
        let found = self.search.find().await;
        let binaries = match place.cluster_version()? {
            Some(major) => binaries::of_major(found, major, &place.cluster)?,
            None => {
                let newest = binaries::newest(found, &self.search)?;
                initdb::create(place, &newest).await?;
                newest
            }
        };
        server::start(place, &binaries, self.connections_max).await
    }
}

impl Embedded {
    /// Starts the server of `data_dir`, or adopts the one that still runs there; makes folder, cluster and database
    /// where they are missing. Waits until the server answers, through a crash recovery too.
    ///
    /// # Errors
    /// No or other server binaries, a folder that is not ours, a server that does not come up. Each says what to do.
    pub async fn start(data_dir: &Path) -> Result<Self, PostgresError> {
        Setup::new(data_dir).start().await
    }

    /// Whether there may be a cluster in `data_dir`. Starts and makes nothing.
    #[must_use]
    pub fn is_made(data_dir: &Path) -> bool {
        Place::exists(data_dir)
    }

    /// Enters the server of `data_dir` if it runs; starts and makes nothing.
    ///
    /// # Errors
    /// A folder that cannot be read, or a server that runs and does not answer.
    pub async fn attach(data_dir: &Path) -> Result<Option<Self>, PostgresError> {
        let setup = Setup::new(data_dir);
        if !Place::exists(data_dir) {
            return Ok(None);
        }
        let place = Place::choose(data_dir, &setup.fallback_root).await?;
        let entry = Entry::lock(&place).await?;
        let Some(socket_dir) = server::adopt(&place).await? else { return Ok(None) };
        let users = entry.enter()?;
        Ok(Some(Self { place, socket_dir, users, is_adopted: true }))
    }

    /// How to connect to the database "oncehook".
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        connect_options(&self.socket_dir, NAME)
    }

    /// The same as a URL that `psql` and other programs understand. It holds no secret: the folder of the socket may be
    /// entered by the server's user only.
    #[must_use]
    pub fn url(&self) -> String {
        let host = percent_encode(self.socket_dir.as_os_str().as_encoded_bytes());
        format!("postgresql:///{NAME}?host={host}&user={NAME}")
    }

    /// Whether the server ran already.
    #[must_use]
    pub fn is_adopted(&self) -> bool {
        self.is_adopted
    }

    /// What the server says, for error messages.
    #[must_use]
    pub fn log_file(&self) -> &Path {
        &self.place.log_file
    }

    /// Stops the server as `pg_ctl stop -m immediate` does, whoever uses it: what is not on disk is lost, and the next start
    /// recovers. For the drill. Answers which process it was.
    ///
    /// # Errors
    /// When no server runs, or it is still alive after 10 s.
    pub async fn crash(&self) -> Result<i32, PostgresError> {
        server::crash(&self.place).await
    }

    /// Leaves the server, and stops it unless another process still uses it. Answers whether it stopped.
    ///
    /// A fast shutdown: clients are cut off, what is committed is on disk. Bounded: after 30 s an immediate one, which
    /// loses nothing either, and makes the next start recover.
    ///
    /// # Errors
    /// A server that is still alive after both.
    pub async fn stop(self) -> Result<bool, PostgresError> {
        let Some(_alone) = self.users.leave(&self.place).await? else { return Ok(false) };
        server::stop(&self.place).await?;
        Ok(true)
    }
}

fn connect_options(socket_dir: &Path, database: &str) -> PgConnectOptions {
    // Nothing of libpq's environment or .pgpass has a say in how we reach our own server.
    PgConnectOptions::new_without_pgpass()
        .socket(socket_dir)
        .port(server::PORT)
        .username(NAME)
        .database(database)
        .disable_statement_logging()
}

fn percent_encode(bytes: &[u8]) -> String {
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_ampersands_survives_the_url() {
        assert_eq!(percent_encode("/srv/my data & more/é".as_bytes()), "/srv/my%20data%20%26%20more/%C3%A9");
    }
}
