//! `oncehook deliveries`: where receipts went, and asking for one of them again.

mod list;
mod retry;

use std::process::ExitCode;

use super::{Globals, receipts};
use crate::domain::DeliveryRef;

/// Shows where receipts went, and asks for dead ones again.
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
    /// Lists deliveries, newest first (as without a subcommand).
    List(list::Options),
    /// Tells the story of the receipt that a delivery belongs to.
    Show {
        /// The delivery.
        #[arg(value_name = "DELIVERY")]
        delivery: DeliveryRef,
    },
    /// Asks for a dead or cancelled delivery once more. It keeps to the order of its lane.
    Retry {
        /// The delivery.
        #[arg(value_name = "DELIVERY")]
        delivery: DeliveryRef,
    },
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable or the database cannot be asked.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list::run(&options.list, globals).await,
        Some(Action::List(list)) => list::run(&list, globals).await,
        Some(Action::Show { delivery }) => receipts::show(&delivery.to_string(), None, false, globals).await,
        Some(Action::Retry { delivery }) => retry::run(delivery, globals).await,
    }
}
