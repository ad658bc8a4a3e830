//! Watching a bulk to its end: on the database itself by working it off, elsewhere by looking again and again. A bar on the terminal
//! shows how far it is; Ctrl-C leaves it, and the bulk goes on.

use std::{process::ExitCode, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{did, print_progress};
use crate::{
    cli::{Globals, access::Access, colour::can_draw_progress, failure::INTERRUPTED, visible::Visible},
    operate::{BulkProgress, BulkState},
};

/// How long to wait before looking again where others do the work.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Watches a bulk until it has ended, and writes what came of it.
///
/// # Errors
/// When it cannot be asked for any more. It goes on then.
pub async fn watch(access: &Access, begun: BulkProgress, globals: &Globals) -> anyhow::Result<ExitCode> {
    let id = begun.bulk.clone();
    let bar = bar(&begun);
    let watched = tokio::select! {
        ended = until_ended(access, begun, &bar) => Some(ended),
        _ = tokio::signal::ctrl_c() => None,
    };
    bar.finish_and_clear();
    match watched {
        Some(ended) => {
            print_progress(&ended.map_err(|error| error.context(how_to_go_on(&id, access.is_remote())))?, globals)
        }
        None => {
            eprintln!("{}", how_to_go_on(&id, access.is_remote()));
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

async fn until_ended(access: &Access, begun: BulkProgress, bar: &ProgressBar) -> anyhow::Result<BulkProgress> {
    let mut progress = begun;
    while progress.state == BulkState::Running {
        if !access.work_bulks().await? {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        progress = access.bulk(&progress.bulk).await?;
        bar.set_position(progress.met.try_into().unwrap_or(0));
    }
    Ok(progress)
}

fn bar(begun: &BulkProgress) -> ProgressBar {
    let target = if can_draw_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(begun.total.try_into().ok(), target);
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len}, {eta} to go");
    bar.with_style(style.expect("the template is well-formed")).with_message(did(begun.action))
}

fn how_to_go_on(bulk: &str, is_remote: bool) -> String {
    let bulk = Visible(bulk);
    let who = if is_remote { "the appliance goes on with it" } else { "a running serve or work goes on with it" };
    format!(
        "bulk {bulk} has not ended, and {who}: \"oncehook bulks watch {bulk}\" looks on{}, \"oncehook bulks stop {bulk}\" ends it",
        if is_remote { "" } else { " and helps" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_leaves_is_told_how_to_come_back() {
        insta::assert_snapshot!(how_to_go_on("b1\u{1b}", false), @r#"bulk b1\u{1b} has not ended, and a running serve or work goes on with it: "oncehook bulks watch b1\u{1b}" looks on and helps, "oncehook bulks stop b1\u{1b}" ends it"#);
        assert!(how_to_go_on("b1", true).contains("the appliance goes on with it"));
    }
}
