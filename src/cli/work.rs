//! `oncehook work`: runs deliveries and takes no webhooks. For more workers beside `serve`, on the same database.

use std::process::ExitCode;

use super::{
    Globals,
    serve::{StartOptions, run_until_stopped},
};
use crate::app::Role;

/// Runs deliveries without taking webhooks, until SIGTERM or Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    start: StartOptions,
}

/// Runs the subcommand.
///
/// # Errors
/// When the appliance cannot be started, breaks down, or does not stop in good order.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    run_until_stopped(globals, &options.start, Role { receives: false, works: true }).await
}
