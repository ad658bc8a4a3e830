//! `oncehook deliveries retry`: asks for a dead or cancelled delivery once more.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals, NOT_FOUND,
        database_access::OpenDatabase,
        output::{print, print_json},
    },
    domain::DeliveryRef,
    operate::retry_delivery,
    run::Doorbell,
};

pub(super) async fn run(delivery: DeliveryRef, globals: &Globals) -> anyhow::Result<ExitCode> {
    let mut database = OpenDatabase::of(globals).await?;
    // Nobody of this process hears the bell: workers of others look on their own, four times a second.
    let state = retry_delivery(database.conn(), &Doorbell::default(), delivery).await;
    let state = database.close(state).await?;
    if globals.json {
        print_json(&serde_json::json!({ "delivery": delivery, "retried": state.is_some(), "state": state }))?;
    } else if let Some(state) = state {
        print(&format!("{delivery} is {state} again: it runs when its turn comes"))?;
    } else {
        eprintln!(
            "{delivery} is neither dead nor cancelled, or not there at all: \"oncehook deliveries show {delivery}\" tells more"
        );
    }
    Ok(if state.is_some() { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) })
}
