//! `oncehook deliveries`: where receipts went, asking for one of them again, and calling one off.

mod filter;
mod list;

use std::process::ExitCode;

use super::{
    Globals, access,
    reason::{Reason, print_changed},
    receipts,
};
use crate::domain::DeliveryRef;

/// Shows where receipts went, asks for dead ones again, and calls others off.
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
    Retry(One),
    /// Calls off a delivery that is waiting, queued or retrying. Its lane goes on with the next.
    Cancel(One),
}

/// One delivery to change.
#[derive(Debug, clap::Args)]
#[group(skip)]
struct One {
    /// The delivery.
    #[arg(value_name = "DELIVERY")]
    delivery: DeliveryRef,
    #[command(flatten)]
    reason: Reason,
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or the change is refused.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list::run(&options.list, globals).await,
        Some(Action::List(list)) => list::run(&list, globals).await,
        Some(Action::Show { delivery }) => receipts::show(&delivery.to_string(), None, false, globals).await,
        Some(Action::Retry(one)) => {
            let retried = async |access: &access::Access| access.retry(one.delivery, one.reason.text()).await;
            print_changed(&access::with(globals, retried).await?, globals)
        }
        Some(Action::Cancel(one)) => {
            let cancelled = async |access: &access::Access| access.cancel(one.delivery, one.reason.text()).await;
            print_changed(&access::with(globals, cancelled).await?, globals)
        }
    }
}

pub use self::{filter::Filter, list::list};
