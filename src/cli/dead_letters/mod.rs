//! `oncehook dead-letters`: deliveries that will not be tried again by themselves: what they died of, and what to do with them.

mod change;
mod groups;

use std::process::ExitCode;

use super::{
    Globals,
    deliveries::{Filter, list},
    listing::Listing,
};
use crate::{
    domain::DeliveryState,
    operate::{BulkAction, DeliveryQuery},
};

/// Shows dead letters, and retries or discards them, one or many.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListOptions,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists dead letters, newest first (as without a subcommand).
    List(ListOptions),
    /// Lists what they died of, the most frequent first.
    Groups(Filter),
    /// Asks for dead letters once more: those named, or all that pass the filters. They keep to the order of their lanes.
    Retry(change::Options),
    /// Takes dead letters off the list: they become cancelled, and lanes that they blocked go on.
    Discard(change::Options),
}

#[derive(Debug, clap::Args)]
#[group(skip)]
struct ListOptions {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or the change is refused.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list_dead(&options.list, globals).await,
        Some(Action::List(options)) => list_dead(&options, globals).await,
        Some(Action::Groups(filter)) => groups::run(&filter, globals).await,
        Some(Action::Retry(options)) => change::run(BulkAction::Retry, options, globals).await,
        Some(Action::Discard(options)) => change::run(BulkAction::Discard, options, globals).await,
    }
}

async fn list_dead(options: &ListOptions, globals: &Globals) -> anyhow::Result<ExitCode> {
    list(dead(&options.filter), &options.listing, "no dead letters", globals).await
}

/// The dead ones that pass.
fn dead(filter: &Filter) -> DeliveryQuery {
    DeliveryQuery { state: Some(DeliveryState::Dead), ..filter.query() }
}
