//! `oncehook migrate`: brings the database to the schema of this binary. `serve` does the same when it starts; this is for
//! those who let another database role do it.

use std::process::ExitCode;

use super::{Globals, database_access::server_for_command, output::print};
use crate::store::migrate::migrate;

/// Brings the database to the schema of this binary, and exits.
#[derive(Debug, clap::Args)]
pub struct Options {}

/// Runs the subcommand.
///
/// # Errors
/// When the server cannot be reached or started, or the schema cannot be changed.
pub async fn run(_options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let server = server_for_command(&globals.load_to_look()?).await?;
    let migrated = match server.connect_options() {
        Ok(options) => migrate(&options).await.map_err(anyhow::Error::new),
        Err(error) => Err(error),
    };
    server.leave().await?;
    migrated?;
    print("the database has the schema of this version")?;
    Ok(ExitCode::SUCCESS)
}
