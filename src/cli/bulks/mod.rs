//! `oncehook bulks`: changes to many deliveries, how far they are, and stopping one.

mod watch;

use std::process::ExitCode;

use super::{
    Globals, access,
    colour::{Paint, Palette},
    listing::{Listing, print_list},
    output::{print, print_json, table},
    reason::Reason,
    stamp::short_stamp,
    visible::{Visible, cut},
};
use crate::operate::{BulkAction, BulkProgress, BulkState, PageRequest};

/// Shows bulks (retrying or discarding many dead letters), watches one, stops one.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: Listing,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists bulks, newest first (as without a subcommand).
    List(Listing),
    /// Shows how far one is.
    Show {
        /// The bulk.
        #[arg(value_name = "BULK")]
        bulk: String,
    },
    /// Watches one until it has ended; on the database itself, helps to work it off.
    Watch {
        /// The bulk.
        #[arg(value_name = "BULK")]
        bulk: String,
    },
    /// Stops one where it is. What it has done stays done.
    Stop {
        /// The bulk.
        #[arg(value_name = "BULK")]
        bulk: String,
        #[command(flatten)]
        reason: Reason,
    },
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or there is no such bulk.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list(&options.list, globals).await,
        Some(Action::List(listing)) => list(&listing, globals).await,
        Some(Action::Show { bulk }) => {
            let progress = access::with(globals, async |access| access.bulk(&bulk).await).await?;
            print_progress(&progress, globals)
        }
        Some(Action::Watch { bulk }) => {
            access::with(globals, async |access| {
                let progress = access.bulk(&bulk).await?;
                watch(access, progress, globals).await
            })
            .await
        }
        Some(Action::Stop { bulk, reason }) => {
            let stopped = access::with(globals, async |access| access.stop_bulk(&bulk, reason.text()).await).await?;
            print_progress(&stopped, globals)
        }
    }
}

async fn list(listing: &Listing, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let found = listing.collect(async |cursor, limit| access.bulks(&PageRequest { cursor, limit }).await).await?;
        print_list(&found, globals, |lines| view(lines, globals.palette()))
    })
    .await
}

fn view(lines: &[BulkProgress], palette: Palette) -> String {
    if lines.is_empty() {
        return "no bulks".to_owned();
    }
    let header = ["bulk", "action", "state", "met", "of", "changed", "began (UTC)", "by", "reason"];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    let paint = |state: &str| match state {
        "done" => Paint::Good,
        "stopped" => Paint::Faint,
        _ => Paint::Waiting,
    };
    palette.column(&table(&header, rows.clone()), &rows, 2, paint)
}

fn cells(line: &BulkProgress) -> Vec<String> {
    vec![
        Visible(&line.bulk).to_string(),
        verb(line.action).to_owned(),
        state(line.state).to_owned(),
        line.met.to_string(),
        line.total.to_string(),
        line.changed.to_string(),
        short_stamp(line.began_at),
        Visible(&line.by).to_string(),
        Visible(&cut(line.reason.as_deref().unwrap_or_default(), 80)).to_string(),
    ]
}

/// Writes how far a bulk is.
fn print_progress(progress: &BulkProgress, globals: &Globals) -> anyhow::Result<ExitCode> {
    if globals.json {
        print_json(progress)?
    } else {
        print(&sentence(progress))?
    }
    Ok(ExitCode::SUCCESS)
}

/// `bulk … is done: retried 997 of 1000; 3 had moved on by themselves`.
fn sentence(progress: &BulkProgress) -> String {
    let BulkProgress { total, met, changed, .. } = progress;
    let did = did(progress.action);
    let bulk = Visible(&progress.bulk);
    let moved_on = match met - changed {
        0 => String::new(),
        number => format!("; {number} had moved on by themselves"),
    };
    match progress.state {
        BulkState::Running => format!("bulk {bulk} is at work: {did} {changed} of {total} so far{moved_on}"),
        BulkState::Done => format!("bulk {bulk} is done: {did} {changed} of {total}{moved_on}"),
        BulkState::Stopped => {
            format!("bulk {bulk} was stopped: {did} {changed} of {total}{moved_on}; what was done stays done")
        }
    }
}

/// `retry`, `discard`.
#[must_use]
pub fn verb(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Retry => "retry",
        BulkAction::Replay => "replay",
        BulkAction::Discard => "discard",
        BulkAction::Cancel => "cancel",
    }
}

fn did(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Retry => "retried",
        BulkAction::Replay => "replayed",
        BulkAction::Discard => "discarded",
        BulkAction::Cancel => "cancelled",
    }
}

fn state(state: BulkState) -> &'static str {
    match state {
        BulkState::Running => "running",
        BulkState::Done => "done",
        BulkState::Stopped => "stopped",
    }
}

pub use self::watch::watch;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn progress(state: BulkState, text: &str) -> BulkProgress {
        BulkProgress {
            bulk: format!("0196d2a8-0000-7000-8000-000000000001{text}"),
            action: BulkAction::Retry,
            state,
            total: 1_000,
            met: 1_000,
            changed: 997,
            by: format!("anna@host{text}"),
            reason: Some(format!("fixed the deployer{text}")),
            began_at: sample::morning(),
            ended_at: None,
        }
    }

    #[test]
    fn a_bulk_says_how_far_it_is() {
        insta::assert_snapshot!(sentence(&progress(BulkState::Done, "")), @"bulk 0196d2a8-0000-7000-8000-000000000001 is done: retried 997 of 1000; 3 had moved on by themselves");
        insta::assert_snapshot!(sentence(&progress(BulkState::Stopped, "")), @"bulk 0196d2a8-0000-7000-8000-000000000001 was stopped: retried 997 of 1000; 3 had moved on by themselves; what was done stays done");
        insta::assert_snapshot!(view(&[progress(BulkState::Running, "")], Palette::plain()), @"
        bulk                                  action  state    met   of    changed  began (UTC)          by         reason
        0196d2a8-0000-7000-8000-000000000001  retry   running  1000  1000  997      2026-01-05 10:00:00  anna@host  fixed the deployer
        ");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let progress = progress(BulkState::Running, text);
            let shown = view(std::slice::from_ref(&progress), Palette::plain()) + &sentence(&progress);
            let shown = shown.replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
