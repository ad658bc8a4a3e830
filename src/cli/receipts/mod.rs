//! `oncehook receipts`: what came in, what became of it, and running it again.

mod filter;
mod list;
mod replay;
mod show;
mod tail;
mod why;

use std::process::ExitCode;

use super::{Globals, export};

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
    /// Tells why a receipt went where it went: its secret, and what each route says to it.
    Why(why::Options),
    /// Finds receipts by a part of an id, or by what stands in their payload.
    Search(list::SearchOptions),
    /// Runs a receipt again: finished deliveries once more, and routes that have none.
    Replay(replay::Options),
    /// Writes a receipt as a fixture: the same as "oncehook export".
    Export(export::Options),
    /// Shows the newest receipts, oldest of them first; with -f, further ones as they come in.
    Tail(tail::Options),
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
        Some(Action::Why(why)) => why::run(&why, globals).await,
        Some(Action::Search(search)) => list::search(search, globals).await,
        Some(Action::Replay(replay)) => replay::run(&replay, globals).await,
        Some(Action::Export(export)) => export::run(&export, globals).await,
        Some(Action::Tail(tail)) => tail::run(&tail, globals).await,
    }
}

pub use self::{
    replay::{print_replayed, release},
    show::{one_receipt, show},
};
