//! A connection to Oncehook's database for a command that comes and goes: to `database.url` where there is one, else to the
//! embedded PostgreSQL, which is started for as long as the command takes if nothing runs it.

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};

use super::Globals;
use crate::{
    config::Config,
    postgres::Embedded,
    store::{
        self, StoreError,
        connect::{options_of_url, pin},
    },
};

/// SQLSTATE codes of a database that Oncehook has never set up: no schema, no table.
const NOT_SET_UP: [&str; 2] = ["3F000", "42P01"];

/// A server, and how to reach it.
#[derive(Debug)]
pub struct Server {
    url: SecretString,
    embedded: Option<Embedded>,
}

/// An open connection.
#[derive(Debug)]
pub struct OpenDatabase {
    conn: PgConnection,
    server: Server,
}

impl Server {
    /// The server that runs already; `None` when it is an embedded one that does not.
    ///
    /// # Errors
    /// When it cannot be found out.
    pub async fn running(config: &Config) -> anyhow::Result<Option<Self>> {
        if let Some(url) = &config.database.url {
            return Ok(Some(Self { url: url.clone(), embedded: None }));
        }
        let running = Embedded::attach(&config.data_dir).await.context("failed to look for the embedded PostgreSQL")?;
        Ok(running.map(Self::embedded))
    }

    /// Makes sure that there is a server.
    ///
    /// # Errors
    /// When the embedded one cannot be started.
    pub async fn of(config: &Config) -> anyhow::Result<Self> {
        if let Some(running) = Self::running(config).await? {
            return Ok(running);
        }
        eprintln!("starting the embedded PostgreSQL in {} for this command", config.data_dir.display());
        let started = Embedded::start(&config.data_dir).await.context("failed to start the embedded PostgreSQL")?;
        Ok(Self::embedded(started))
    }

    fn embedded(embedded: Embedded) -> Self {
        Self { url: embedded.url().into(), embedded: Some(embedded) }
    }

    /// The URL, with its password if it has one.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.expose_secret()
    }

    /// Stops the embedded PostgreSQL, unless another process uses it.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn leave(self) -> anyhow::Result<()> {
        if let Some(embedded) = self.embedded {
            embedded.stop().await.context("failed to stop the embedded PostgreSQL")?;
        }
        Ok(())
    }

    /// How to connect to it.
    ///
    /// # Errors
    /// When `database.url` is not usable.
    pub fn connect_options(&self) -> anyhow::Result<PgConnectOptions> {
        match &self.embedded {
            Some(embedded) => Ok(embedded.connect_options()),
            None => Ok(options_of_url(&self.url)?),
        }
    }

    async fn connect(&self) -> anyhow::Result<PgConnection> {
        // Statements without a name work through PgBouncer in transaction mode too.
        let options = pin(self.connect_options()?, "oncehook cli").statement_cache_capacity(0);
        options.connect().await.context("failed to connect to the database: is it running, and is database.url right?")
    }
}

impl OpenDatabase {
    /// Connects to the configured database.
    ///
    /// # Errors
    /// When the configuration is not usable, or the server cannot be reached or started.
    pub async fn of(globals: &Globals) -> anyhow::Result<Self> {
        let server = Server::of(&globals.load_to_look()?).await?;
        match server.connect().await {
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

fn explain(error: StoreError) -> anyhow::Error {
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
