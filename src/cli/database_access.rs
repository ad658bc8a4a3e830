//! A connection to Oncehook's database for a command that comes and goes: to `database.url` where there is one, else to the
//! embedded PostgreSQL, which is started for as long as the command takes if nothing runs it.

use anyhow::Context as _;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};

use super::Globals;
use crate::{
    config::{self, Config},
    database::Server,
    store::{
        self, StoreError,
        connect::{self, pin},
    },
};

/// SQLSTATE codes of a database that Oncehook has never set up: no schema, no table.
const NOT_SET_UP: [&str; 2] = ["3F000", "42P01"];

/// An open connection.
#[derive(Debug)]
pub struct OpenDatabase {
    conn: PgConnection,
    server: Server,
}

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

impl OpenDatabase {
    /// Connects to the configured database.
    ///
    /// # Errors
    /// When the configuration is not usable, or the server cannot be reached or started.
    pub async fn of(globals: &Globals) -> anyhow::Result<Self> {
        let server = server_for_command(&globals.load_to_look()?).await?;
        match connect(&server).await {
            Ok(conn) => Ok(Self { conn, server }),
            Err(error) => {
                server.leave().await?;
                Err(error)
            }
        }
    }

    /// The connection.
    pub fn conn(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    /// Closes the connection, leaves the server, and gives the result of what was asked with an explanation.
    ///
    /// # Errors
    /// The one of `result`, or when the server cannot be left.
    pub async fn close<T>(self, result: store::Result<T>) -> anyhow::Result<T> {
        let _ = self.conn.close().await; // a connection that is broken already is closed too
        self.server.leave().await?;
        result.map_err(explain)
    }
}

async fn connect(server: &Server) -> anyhow::Result<PgConnection> {
    // Statements without a name work through PgBouncer in transaction mode too.
    let options = pin(server.connect_options()?, "oncehook cli").statement_cache_capacity(0);
    options.connect().await.context("failed to connect to the database: is it running, and is database.url right?")
}

/// Connections of a desk: one reads the answer, another is there for what that needs beside it.
const DESK_CONNECTIONS: u32 = 2;

/// A pool for a desk.
///
/// # Errors
/// When the database cannot be reached.
pub async fn open_pool(server: &Server, config: &Config) -> anyhow::Result<PgPool> {
    let settings = config::Database { connections_max: DESK_CONNECTIONS, ..config.database.clone() };
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
