//! `oncehook lanes unblock`: lets a lane go on behind the dead delivery that blocks it.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals, access,
        reason::{Reason, print_changed},
    },
    domain::{LaneKey, OrderingKey, RouteName},
};

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// The lane's route.
    #[arg(value_name = "ROUTE")]
    route: RouteName,
    /// The lane's ordering key, as "lanes --json" shows it.
    #[arg(value_name = "KEY")]
    ordering_key: String,
    #[command(flatten)]
    reason: Reason,
}

pub(super) async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let lane = LaneKey { route: options.route, ordering_key: OrderingKey::new(&options.ordering_key) };
    let unblocked = async |access: &access::Access| access.unblock_lane(&lane, options.reason.text()).await;
    print_changed(&access::with(globals, unblocked).await?, globals)
}
