//! The way to an appliance: the database itself, or, with `--url`, an appliance elsewhere through its API. One method an
//! operation, with the same answers either way, so that a command need not know which it is.

mod address;
mod changes;
mod exchange;
mod local;
mod lookups;
mod problem;
mod remote;

pub use self::lookups::ConflictTexts;
use self::{local::LocalDesk, remote::Client};
use super::Globals;

/// Where questions and orders go.
pub enum Access {
    /// To the database, through a desk of this process.
    Local(LocalDesk),
    /// To `/api/v1` of an appliance.
    Remote(Client),
}

impl Access {
    /// The way that the options name.
    ///
    /// # Errors
    /// When the configuration or the token is not usable, or the database cannot be reached.
    pub async fn of(globals: &Globals) -> anyhow::Result<Self> {
        Ok(match &globals.remote.url {
            Some(url) => Self::Remote(Client::of(url, &globals.remote)?),
            None => Self::Local(LocalDesk::open(globals).await?),
        })
    }

    /// Whether questions go to an appliance elsewhere.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    /// Leaves, and stops the database server if it was started for this command.
    ///
    /// # Errors
    /// When the embedded PostgreSQL does not stop.
    pub async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Local(local) => local.close().await,
            Self::Remote(_) => Ok(()),
        }
    }
}

/// Does `work` with a way to the appliance, and leaves in good order whatever came of it.
///
/// # Errors
/// Those of `work`, of the way there, and of the way back.
pub async fn with<T>(
    globals: &Globals,
    work: impl for<'a> AsyncFnOnce(&'a Access) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let access = Access::of(globals).await?;
    let done = work(&access).await;
    let closed = access.close().await;
    let done = done?;
    closed?;
    Ok(done)
}
