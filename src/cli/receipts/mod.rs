//! `oncehook receipts`: what came in, and what became of it. Reads only.

mod list;
mod lookup;
mod show;

use std::process::ExitCode;

use super::Globals;

/// Shows what came in, and what became of it.
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
    /// Lists receipts, newest first (as without a subcommand).
    List(list::Options),
    /// Tells the whole story of one receipt.
    Show(show::Options),
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable or the database cannot be asked.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list::run(&options.list, globals).await,
        Some(Action::List(list)) => list::run(&list, globals).await,
        Some(Action::Show(show)) => show::run(&show, globals).await,
    }
}

pub use self::show::show;
