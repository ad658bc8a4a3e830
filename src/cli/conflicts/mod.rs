//! `oncehook conflicts`: other payloads that came under the delivery id of a receipt. They are kept, and not run until an operator
//! says so.

mod difference;
mod show;

use std::process::ExitCode;

use super::{
    Globals, access,
    listing::{Listing, print_list},
    output::table,
    reason::Reason,
    receipts::print_replayed,
    stamp::short_stamp,
    visible::{Visible, cut},
};
use crate::operate::{ConflictLine, ConflictQuery};

/// Shows payloads that came under the delivery id of another one, and makes a receipt of one.
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
    /// Lists conflicts, newest first (as without a subcommand).
    List(ListOptions),
    /// Shows how a conflict differs from the first payload.
    Show {
        /// Its number.
        #[arg(value_name = "NUMBER")]
        conflict: i64,
    },
    /// Makes a receipt of its own of a conflict, with the deliveries that the routes of today ask for. The first one stays as it is.
    Promote {
        /// Its number.
        #[arg(value_name = "NUMBER")]
        conflict: i64,
        #[command(flatten)]
        reason: Reason,
    },
}

#[derive(Debug, clap::Args)]
#[group(skip)]
struct ListOptions {
    /// Only those whose receipt came in here.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only those under this id of the provider's.
    #[arg(long, value_name = "ID")]
    delivery_id: Option<String>,
    /// Only those that were promoted.
    #[arg(long)]
    promoted: bool,
    /// Only those that were not.
    #[arg(long, conflicts_with = "promoted")]
    open: bool,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or there is no such conflict.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None => list(&options.list, globals).await,
        Some(Action::List(options)) => list(&options, globals).await,
        Some(Action::Show { conflict }) => show::run(conflict, globals).await,
        Some(Action::Promote { conflict, reason }) => {
            let promoted = access::with(globals, async |access| access.promote(conflict, reason.text()).await).await?;
            print_replayed(&promoted, globals)
        }
    }
}

async fn list(options: &ListOptions, globals: &Globals) -> anyhow::Result<ExitCode> {
    let query = ConflictQuery {
        source: options.source.clone(),
        delivery_id: options.delivery_id.clone(),
        promoted: if options.open { Some(false) } else { options.promoted.then_some(true) },
        ..ConflictQuery::default()
    };
    access::with(globals, async |access| {
        let page = async |cursor, limit| {
            access.conflicts(&ConflictQuery { cursor, limit: Some(limit), ..query.clone() }).await
        };
        let found = options.listing.collect(page).await?;
        print_list(&found, globals, view)
    })
    .await
}

fn view(lines: &[ConflictLine]) -> String {
    if lines.is_empty() {
        return "no conflicts".to_owned();
    }
    let header = ["conflict", "arrived (UTC)", "source", "event type", "delivery id", "first receipt", "promoted to"];
    table(&header, lines.iter().map(cells).collect())
}

fn cells(line: &ConflictLine) -> Vec<String> {
    vec![
        line.conflict.to_string(),
        short_stamp(line.arrived_at),
        Visible(&line.source).to_string(),
        Visible(&line.event_type).to_string(),
        Visible(&cut(&line.delivery_id, 40)).to_string(),
        line.receipt.to_string(),
        line.promoted_to.map_or("-".to_owned(), |receipt| receipt.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    #[test]
    fn a_list_of_conflicts_has_one_line_each() {
        let promoted = ConflictLine { promoted_to: Some(sample::receipt_id()), ..sample::conflict_line() };
        insta::assert_snapshot!(view(&[sample::conflict_line(), promoted]), @"
        conflict  arrived (UTC)        source  event type  delivery id                           first receipt                   promoted to
        1         2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  rcp_01ke6vafet00000000000000r1  -
        1         2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  rcp_01ke6vafet00000000000000r1  rcp_01ke6vafet00000000000000r1
        ");
        assert_eq!(view(&[]), "no conflicts");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let text = (*text).to_owned();
            let line = ConflictLine { event_type: text.clone(), delivery_id: text.clone(), ..sample::conflict_line() };
            let shown = view(&[line]).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
