//! `oncehook deliveries`: one line a delivery, newest first.

use std::process::ExitCode;

use super::filter::Filter;
use crate::{
    cli::{
        Globals, access,
        colour::{Paint, Palette},
        listing::{Listing, print_list},
        output::table,
        stamp::short_stamp,
        visible::{Visible, cut},
    },
    domain::DeliveryState,
    operate::DeliveryQuery,
    store::delivery_list::DeliveryLine,
};

/// Letters of an ordering key that are shown in a list. `deliveries show` and JSON tell all of a longer one.
const KEY_LETTERS_MAX: usize = 40;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Only deliveries in this state: waiting, queued, running, retrying, succeeded, dead, skipped, cancelled.
    #[arg(long)]
    state: Option<DeliveryState>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    listing: Listing,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let query = DeliveryQuery { state: options.state, ..options.filter.query() };
    list(query, &options.listing, "no deliveries", globals).await
}

/// Lists deliveries. `none` is what stands there if there are none.
///
/// # Errors
/// When they cannot be asked for.
pub async fn list(query: DeliveryQuery, listing: &Listing, none: &str, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let page = async |cursor, limit| {
            access.deliveries(&DeliveryQuery { cursor, limit: Some(limit), ..query.clone() }).await
        };
        let found = listing.collect(page).await?;
        print_list(&found, globals, |lines| view(lines, none, globals.palette()))
    })
    .await
}

fn view(lines: &[DeliveryLine], none: &str, palette: Palette) -> String {
    if lines.is_empty() {
        return none.to_owned();
    }
    let header = [
        "delivery",
        "state",
        "route",
        "destination",
        "event type",
        "ordering key",
        "attempts",
        "next or last (UTC)",
        "error",
    ];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    palette.column(&table(&header, rows.clone()), &rows, 1, Paint::of_states)
}

fn cells(line: &DeliveryLine) -> Vec<String> {
    vec![
        line.id.to_string(),
        line.state.to_string(),
        Visible(&line.route).to_string(),
        Visible(&line.destination).to_string(),
        Visible(&line.event_type).to_string(),
        Visible(&cut(line.ordering_key.as_deref().unwrap_or("-"), KEY_LETTERS_MAX)).to_string(),
        line.attempts.to_string(),
        short_stamp(line.finished_at.unwrap_or(line.due_at)),
        Visible(&cut(line.last_error.as_deref().unwrap_or_default(), 120)).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn line() -> DeliveryLine {
        DeliveryLine {
            id: sample::delivery_ref(),
            receipt: sample::receipt_id(),
            source: "github".to_owned(),
            event_type: "push".to_owned(),
            delivery_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516".to_owned(),
            route: "deploy".to_owned(),
            destination: "deployer".to_owned(),
            ordering_key: Some("ref/1/refs/heads/main".to_owned()),
            state: DeliveryState::Succeeded,
            attempts: 2,
            due_at: sample::morning(),
            finished_at: Some(sample::morning()),
            last_error: None,
        }
    }

    #[test]
    fn a_list_of_deliveries_has_one_line_each() {
        let retrying = DeliveryLine {
            state: DeliveryState::Retrying,
            ordering_key: None,
            finished_at: None,
            last_error: Some("answered 503 Service Unavailable".to_owned()),
            ..line()
        };
        insta::assert_snapshot!(view(&[line(), retrying], "none", Palette::plain()), @"
        delivery                        state      route   destination  event type  ordering key           attempts  next or last (UTC)   error
        dlv_01ke6vafet00000000000000d1  succeeded  deploy  deployer     push        ref/1/refs/heads/main  2         2026-01-05 10:00:00
        dlv_01ke6vafet00000000000000d1  retrying   deploy  deployer     push        -                      2         2026-01-05 10:00:00  answered 503 Service Unavailable
        ");
        assert_eq!(view(&[], "no deliveries", Palette::plain()), "no deliveries");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let hostile =
                DeliveryLine { ordering_key: Some((*text).to_owned()), last_error: Some((*text).to_owned()), ..line() };
            let shown = view(&[hostile], "none", Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }

    #[test]
    fn json_uses_the_words_of_the_design() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&line()).unwrap(), @r#"
        {
          "delivery": "dlv_01ke6vafet00000000000000d1",
          "receipt": "rcp_01ke6vafet00000000000000r1",
          "source": "github",
          "event_type": "push",
          "delivery_id": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
          "route": "deploy",
          "destination": "deployer",
          "ordering_key": "ref/1/refs/heads/main",
          "state": "succeeded",
          "attempts": 2,
          "due_at": "2026-01-05T10:00:00.250Z",
          "finished_at": "2026-01-05T10:00:00.250Z",
          "last_error": null
        }
        "#);
    }
}
