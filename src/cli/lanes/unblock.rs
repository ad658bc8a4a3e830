//! `oncehook lanes unblock`: lets a lane go on behind the dead delivery that blocks it.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals, NOT_FOUND,
        database_access::OpenDatabase,
        output::{print, print_json},
        visible::Visible,
    },
    domain::{LaneKey, OrderingKey, RouteName},
    operate::unblock_lane,
    run::Doorbell,
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
}

pub(super) async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let lane = LaneKey { route: options.route, ordering_key: OrderingKey::new(&options.ordering_key) };
    let mut database = OpenDatabase::of(globals).await?;
    // Nobody of this process hears the bell: workers of others look on their own, four times a second.
    let is_done = unblock_lane(database.conn(), &Doorbell::default(), &lane).await;
    let is_done = database.close(is_done).await?;
    let (route, key) = (lane.route.as_str(), lane.ordering_key.as_str());
    if globals.json {
        print_json(&serde_json::json!({ "route": route, "ordering_key": key, "unblocked": is_done }))?;
    } else if is_done {
        print(&format!("the lane {} of route {route} goes on; its dead delivery stays dead", Visible(key)))?;
    } else {
        eprintln!(
            "there is no blocked lane {} of route {route}: \"oncehook lanes --blocked\" lists those",
            Visible(key)
        );
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) })
}
