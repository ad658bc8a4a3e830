//! `oncehook lanes`: what waits for what, and the way out of a blocked lane.

mod list;
mod unblock;

use std::process::ExitCode;

use super::Globals;

/// Shows lanes, and lets a blocked one go on.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: list::Options,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists lanes, those that have been open the longest first (as without a subcommand).
    List(list::Options),
    /// Lets a blocked lane go on behind its dead delivery, which stays dead.
    Unblock(unblock::Options),
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable or the database cannot be asked.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list::run(&options.list, globals).await,
        Some(Action::List(list)) => list::run(&list, globals).await,
        Some(Action::Unblock(unblock)) => unblock::run(unblock, globals).await,
    }
}
