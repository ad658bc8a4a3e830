//! `oncehook release`: lets a held suspected replay go on its way after all.

use std::process::ExitCode;

use super::{Globals, reason::Reason, receipts};

/// Lets a receipt go on its way that `replay_guard = "hold"` holds as a suspected replay ("oncehook receipts --held").
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The receipt (rcp_…), or the provider's own id.
    #[arg(value_name = "RECEIPT")]
    receipt: String,
    #[command(flatten)]
    reason: Reason,
}

/// Runs the subcommand.
///
/// # Errors
/// When it is not held, or not there.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    receipts::release(&options.receipt, &options.reason, globals).await
}
