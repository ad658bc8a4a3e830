//! `oncehook receipts`: one line a receipt, newest first.

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
    operate::ReceiptQuery,
    store::receipt_list::ReceiptLine,
};

/// Letters of a provider's id that are shown in a list: a UUID whole. `receipts show` and JSON tell all of a longer one.
const ID_LETTERS_MAX: usize = 40;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    listing: Listing,
}

/// Options of `receipts search`.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct SearchOptions {
    /// Part of an id: of the provider's, of a receipt's, of a delivery's.
    #[arg(value_name = "TEXT", required_unless_present = "path")]
    text: Option<String>,
    /// A place in the payload: `repository.full_name`, or a JSON pointer, `/repository/full_name`. Give a time range or a source
    /// too where there are many receipts.
    #[arg(long, value_name = "PATH", requires = "value")]
    path: Option<String>,
    /// What stands there, as text: `octo/repo`, `42`, `true`.
    #[arg(long, value_name = "VALUE", requires = "path")]
    value: Option<String>,
    #[command(flatten)]
    list: Options,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    list(options.filter.query(), &options.listing, globals).await
}

pub(super) async fn search(options: SearchOptions, globals: &Globals) -> anyhow::Result<ExitCode> {
    let query =
        ReceiptQuery { q: options.text, path: options.path, value: options.value, ..options.list.filter.query() };
    list(query, &options.list.listing, globals).await
}

async fn list(query: ReceiptQuery, listing: &Listing, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let page =
            async |cursor, limit| access.receipts(&ReceiptQuery { cursor, limit: Some(limit), ..query.clone() }).await;
        let found = listing.collect(page).await?;
        print_list(&found, globals, |lines| view(lines, globals.palette()))
    })
    .await
}

fn view(lines: &[ReceiptLine], palette: Palette) -> String {
    if lines.is_empty() {
        return "no receipts".to_owned();
    }
    let header =
        ["receipt", "received (UTC)", "source", "event type", "delivery id", "deliveries", "arrivals", "flags"];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    palette.column(&table(&header, rows.clone()), &rows, 5, Paint::of_states)
}

pub(super) fn cells(line: &ReceiptLine) -> Vec<String> {
    vec![
        line.id.to_string(),
        short_stamp(line.received_at),
        Visible(&line.source).to_string(),
        Visible(&line.event_type).to_string(),
        Visible(&cut(&line.delivery_id, ID_LETTERS_MAX)).to_string(),
        states(&line.deliveries),
        if line.arrivals > 1 { format!("×{}", line.arrivals) } else { "1".to_owned() },
        Visible(&line.flags.join(", ")).to_string(),
    ]
}

/// `succeeded`, `2 succeeded, 1 dead`.
fn states(deliveries: &[DeliveryState]) -> String {
    let counted = DeliveryState::ALL
        .into_iter()
        .map(|state| (state, deliveries.iter().filter(|other| **other == state).count()))
        .filter(|(_, number)| *number > 0);
    let parts: Vec<_> = counted
        .map(|(state, number)| if deliveries.len() == 1 { state.to_string() } else { format!("{number} {state}") })
        .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn line() -> ReceiptLine {
        ReceiptLine {
            id: sample::receipt_id(),
            received_at: sample::morning(),
            source: "github".to_owned(),
            event_type: "push".to_owned(),
            delivery_id: "0b989ba4-242f-11e5-81e1-c7b6966d2516".to_owned(),
            arrivals: 1,
            deliveries: vec![DeliveryState::Succeeded],
            flags: vec![],
        }
    }

    #[test]
    fn a_list_of_receipts_has_one_line_each() {
        let twice = ReceiptLine {
            arrivals: 2,
            deliveries: vec![DeliveryState::Dead, DeliveryState::Succeeded, DeliveryState::Succeeded],
            flags: vec!["suspected_replay".to_owned()],
            ..line()
        };
        let unrouted = ReceiptLine { deliveries: vec![], ..line() };
        insta::assert_snapshot!(view(&[line(), twice, unrouted], Palette::plain()), @"
        receipt                         received (UTC)       source  event type  delivery id                           deliveries           arrivals  flags
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  succeeded            1
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  2 succeeded, 1 dead  ×2        suspected_replay
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  none                 1
        ");
        assert_eq!(view(&[], Palette::plain()), "no receipts");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let hostile = ReceiptLine {
                event_type: (*text).to_owned(),
                delivery_id: (*text).to_owned(),
                flags: vec![(*text).to_owned()],
                ..line()
            };
            let shown = view(&[hostile], Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }

    #[test]
    fn json_uses_the_words_of_the_design() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&line()).unwrap(), @r#"
        {
          "receipt": "rcp_01ke6vafet00000000000000r1",
          "received_at": "2026-01-05T10:00:00.250Z",
          "source": "github",
          "event_type": "push",
          "delivery_id": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
          "arrivals": 1,
          "deliveries": [
            "succeeded"
          ],
          "flags": []
        }
        "#);
    }
}
