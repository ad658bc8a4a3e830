//! The database of one process: the configured one, or the embedded PostgreSQL. Opened, checked and migrated before anything
//! uses it.

mod server;

use anyhow::Context as _;
use sqlx::{PgPool, postgres::PgConnectOptions};

pub use self::server::Server;
use crate::{
    config::{self, Config},
    store::{StoreError, boot_check, connect, migrate},
};

/// An open database.
#[derive(Debug)]
pub struct Database {
    options: PgConnectOptions,
    server: Server,
}

impl Database {
    /// Starts or enters the embedded PostgreSQL where no URL is configured, checks that the database is fit for promises, and
    /// brings its schema up to date.
    ///
    /// # Errors
    /// When it cannot be reached, is not fit, or has a schema of a newer Oncehook. Each says what to do.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let server = Server::start(config).await?;
        let database = Self { options: server.connect_options()?, server };
        match database.make_ready(&config.database).await {
            Ok(()) => Ok(database),
            Err(error) => {
                // The embedded server must not outlive a start that failed.
                database.close().await?;
                Err(error)
            }
        }
    }

    async fn make_ready(&self, settings: &config::Database) -> anyhow::Result<()> {
        let pool = self.pool("boot", settings).await.context("failed to connect to the database")?;
        let mut conn = pool.acquire().await.context("failed to connect to the database")?;
        boot_check::run(&mut conn).await.context("the database is not fit for use")?;
        drop(conn);
        pool.close().await;
        migrate::migrate(&self.options).await.context("failed to migrate the database")
    }

    /// A pool of connections to it, for the current runtime. `part` shows in `pg_stat_activity`.
    pub fn pool(
        &self,
        part: &'static str,
        settings: &config::Database,
    ) -> impl Future<Output = Result<PgPool, StoreError>> + Send + use<> {
        let (options, settings) = (self.options.clone(), settings.clone());
        async move { connect::connect(options, &settings, &format!("oncehook {part}")).await }
    }

    /// A pool for the recorder.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn recording_pool(&self, settings: &config::Database) -> Result<PgPool, StoreError> {
        connect::connect(connect::for_recording(self.options.clone()), settings, "oncehook record").await
    }

    /// A pool for operators.
    ///
    /// # Errors
    /// When the database cannot be reached.
    pub async fn operating_pool(&self, settings: &config::Database) -> Result<PgPool, StoreError> {
        connect::connect_for_operators(self.options.clone(), settings, "oncehook operate").await
    }

    /// How to connect to it.
    #[must_use]
    pub fn connect_options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Stops the embedded PostgreSQL, unless another process uses it.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn close(self) -> anyhow::Result<()> {
        self.server.leave().await
    }
}
