//! `oncehook receipts`: one line a receipt, newest first.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals,
        database_access::OpenDatabase,
        output::{print, print_json, table},
        stamp::short_stamp,
        visible::{Visible, cut},
    },
    domain::{DeliveryState, ReceiptId},
    store::receipt_list::{ReceiptFilter, ReceiptLine, list_receipts},
};

/// Letters of a provider's id that are shown in a list: a UUID whole. `receipts show` and JSON tell all of a longer one.
const ID_LETTERS_MAX: usize = 40;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Only receipts of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only this event type: `push`, or `pull_request` for all of its actions.
    #[arg(long = "type", value_name = "EVENT-TYPE")]
    event_type: Option<String>,
    /// Only receipts with this id of the provider's: X-GitHub-Delivery, evt_…, webhook-id.
    #[arg(long, value_name = "ID")]
    delivery_id: Option<String>,
    /// Only receipts with a delivery in this state: waiting, queued, running, retrying, succeeded, dead, skipped, cancelled.
    #[arg(long)]
    state: Option<DeliveryState>,
    /// Only receipts with a delivery of this route.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only receipts older than this one: the last of a list gives the next page.
    #[arg(long, value_name = "RECEIPT")]
    before: Option<ReceiptId>,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let filter = ReceiptFilter {
        source: options.source.clone(),
        event_type: options.event_type.clone(),
        delivery_id: options.delivery_id.clone(),
        state: options.state,
        route: options.route.clone(),
        before: options.before,
        limit: options.limit,
    };
    let mut database = OpenDatabase::of(globals).await?;
    let lines = list_receipts(database.conn(), &filter).await;
    let lines = database.close(lines).await?;
    if globals.json {
        print_json(&lines)?;
    } else {
        print(&view(&lines, options.limit))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn view(lines: &[ReceiptLine], limit: u32) -> String {
    let Some(last) = lines.last() else { return "no receipts".to_owned() };
    let header =
        ["receipt", "received (UTC)", "source", "event type", "delivery id", "deliveries", "arrivals", "flags"];
    let mut page = table(&header, lines.iter().map(cells).collect());
    if u32::try_from(lines.len()).is_ok_and(|shown| shown == limit) {
        page += &format!("\n\nolder ones: --before {}", last.id);
    }
    page
}

fn cells(line: &ReceiptLine) -> Vec<String> {
    vec![
        line.id.to_string(),
        short_stamp(line.received_at),
        line.source.clone(),
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
        insta::assert_snapshot!(view(&[line(), twice, unrouted], 3), @"
        receipt                         received (UTC)       source  event type  delivery id                           deliveries           arrivals  flags
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  succeeded            1
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  2 succeeded, 1 dead  ×2        suspected_replay
        rcp_01ke6vafet00000000000000r1  2026-01-05 10:00:00  github  push        0b989ba4-242f-11e5-81e1-c7b6966d2516  none                 1

        older ones: --before rcp_01ke6vafet00000000000000r1
        ");
        assert_eq!(view(&[], 3), "no receipts");
        assert!(!view(&[line()], 3).contains("--before"), "there are no older ones");
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
            let shown = view(&[hostile], 9).replace('\n', "");
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
