//! `oncehook serve`: takes webhooks and runs deliveries, until it is told to stop. `work` shares its course.

use std::process::ExitCode;

use anyhow::Context as _;

use super::{Globals, banner::Banner, output::print};
use crate::{
    app::{App, Role},
    clock::Clock,
    config::Loaded,
    shutdown,
};

/// Takes webhooks and runs deliveries, until SIGTERM or Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only takes webhooks: deliveries are run by `oncehook work` processes on the same database.
    #[arg(long)]
    no_work: bool,
    #[command(flatten)]
    start: StartOptions,
}

/// What `serve` and `work` have in common.
#[derive(Debug, clap::Args)]
pub struct StartOptions {
    /// Lets everybody on this machine use the operator's port, without a token. Only while admin.listen is a loopback address.
    #[arg(long)]
    no_auth: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// When the appliance cannot be started, breaks down, or does not stop in good order.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    run_until_stopped(globals, &options.start, Role { receives: true, works: !options.no_work }).await
}

/// Starts, tells what is running, and stops in good order when a signal asks for it.
///
/// # Errors
/// As [`run`].
pub async fn run_until_stopped(globals: &Globals, options: &StartOptions, role: Role) -> anyhow::Result<ExitCode> {
    let Loaded { mut config, generated, origin, .. } = globals.load(true)?;
    config.admin.no_auth = options.no_auth;
    if let Some(problem) = config.admin.why_not_without_auth().filter(|_| options.no_auth) {
        anyhow::bail!(problem);
    }
    let (trigger, stopping) = shutdown::channel();
    shutdown::on_signals(trigger).context("failed to listen to signals")?;
    let mut banner = Banner::of(&config, &origin.to_string(), &generated);
    let mut app = App::start(config, Clock::system(), role).await?;
    banner.intake = app.intake_address();
    banner.admin = Some(app.admin_address());
    if options.no_auth {
        tracing::warn!(admin = %app.admin_address(), "--no-auth: everybody on this machine may see and change everything");
    }
    // What a script reads is kept in logs: it makes its own token, and keeps that where it belongs.
    if !globals.json {
        banner.first_token = app.make_first_token().await?;
    }
    print(&if globals.json { banner.json().to_string() } else { banner.view() })?;
    let ended = app.run_until(stopping).await;
    app.stop().await?;
    ended?;
    Ok(ExitCode::SUCCESS)
}
