//! The PostgreSQL server of a configuration: the one at `database.url`, or the embedded one, which is entered and left.

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::PgConnectOptions;

use crate::{config::Config, postgres::Embedded, store::connect::options_of_url};

/// A server, and how to reach it.
#[derive(Debug)]
pub struct Server {
    url: SecretString,
    embedded: Option<Embedded>,
}

impl Server {
    /// The server that runs already; `None` when it is an embedded one that does not.
    ///
    /// # Errors
    /// When it cannot be found out.
    pub async fn running(config: &Config) -> anyhow::Result<Option<Self>> {
        if let Some(configured) = Self::configured(config) {
            return Ok(Some(configured));
        }
        let running = Embedded::attach(&config.data_dir).await.context("failed to look for the embedded PostgreSQL")?;
        Ok(running.map(Self::embedded))
    }

    /// Makes sure that there is a server: starts the embedded one where none runs.
    ///
    /// # Errors
    /// When the embedded one cannot be started.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        if let Some(configured) = Self::configured(config) {
            return Ok(configured);
        }
        let started = Embedded::start(&config.data_dir).await.context("failed to start the embedded PostgreSQL")?;
        Ok(Self::embedded(started))
    }

    fn configured(config: &Config) -> Option<Self> {
        config.database.url.as_ref().map(|url| Self { url: url.clone(), embedded: None })
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
}
