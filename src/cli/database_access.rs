//! The way to Oncehook's database for a command that comes and goes: to `database.url` where there is one, else to the
//! embedded PostgreSQL, which is started for as long as the command takes if nothing runs it.

use anyhow::Context as _;
use sqlx::PgPool;

use crate::{
    config::{self, Config},
    database::Server,
    store::{StoreError, connect},
};

/// SQLSTATE codes of a database that Oncehook has never set up: no schema, no table.
const NOT_SET_UP: [&str; 2] = ["3F000", "42P01"];

/// Makes sure that there is a server, and says so if it has to be started.
///
/// # Errors
/// When the embedded one cannot be started.
pub async fn server_for_command(config: &Config) -> anyhow::Result<Server> {
    if let Some(running) = Server::running(config).await? {
        return Ok(running);
    }
    eprintln!("starting the embedded PostgreSQL in {} for this command", config.data_dir.display());
    Server::start(config).await
}

/// Connections of a desk: one reads the answer, another is there for what that needs beside it.
const DESK_CONNECTIONS: u32 = 2;

/// A pool for a desk.
///
/// # Errors
/// When the database cannot be reached.
pub async fn open_pool(server: &Server, config: &Config) -> anyhow::Result<PgPool> {
    let settings = config::Database { connections_max: DESK_CONNECTIONS, ..config.database.clone() };
    // Statements without a name work through PgBouncer in transaction mode too.
    let options = server.connect_options()?.statement_cache_capacity(0);
    let pool = connect::connect(options, &settings, "oncehook cli").await;
    pool.context("failed to connect to the database: is it running, and is database.url right?")
}

/// An error of the database, and what to do about it.
#[must_use]
pub fn explain(error: StoreError) -> anyhow::Error {
    let code = match &error {
        StoreError::Database(error) => error.as_database_error().and_then(sqlx::error::DatabaseError::code),
        _ => None,
    };
    if code.is_some_and(|code| NOT_SET_UP.contains(&&*code)) {
        return anyhow::Error::new(error).context(
            "the database has no tables of Oncehook yet: \"oncehook serve\" or \"oncehook migrate\" makes them",
        );
    }
    anyhow::Error::new(error).context("failed to ask the database")
}
