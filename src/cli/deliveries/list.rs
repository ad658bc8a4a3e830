//! `oncehook deliveries`: one line a delivery, newest first.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals,
        database_access::OpenDatabase,
        output::{print, print_json, table},
        stamp::short_stamp,
        visible::{Visible, cut},
    },
    domain::{DeliveryRef, DeliveryState},
    store::delivery_list::{DeliveryFilter, DeliveryLine, list_deliveries},
};

/// Letters of an ordering key that are shown in a list. `deliveries show` and JSON tell all of a longer one.
const KEY_LETTERS_MAX: usize = 40;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Only deliveries in this state: waiting, queued, running, retrying, succeeded, dead, skipped, cancelled.
    #[arg(long)]
    state: Option<DeliveryState>,
    /// Only deliveries of this route.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// Only deliveries of receipts of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Only deliveries older than this one: the last of a list gives the next page.
    #[arg(long, value_name = "DELIVERY")]
    before: Option<DeliveryRef>,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let filter = DeliveryFilter {
        state: options.state,
        route: options.route.clone(),
        source: options.source.clone(),
        before: options.before,
        limit: options.limit,
    };
    let mut database = OpenDatabase::of(globals).await?;
    let lines = list_deliveries(database.conn(), &filter).await;
    let lines = database.close(lines).await?;
    if globals.json {
        print_json(&lines)?;
    } else {
        print(&view(&lines, options.limit))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn view(lines: &[DeliveryLine], limit: u32) -> String {
    let Some(last) = lines.last() else { return "no deliveries".to_owned() };
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
    let mut page = table(&header, lines.iter().map(cells).collect());
    if u32::try_from(lines.len()).is_ok_and(|shown| shown == limit) {
        page += &format!("\n\nolder ones: --before {}", last.id);
    }
    page
}

fn cells(line: &DeliveryLine) -> Vec<String> {
    vec![
        line.id.to_string(),
        line.state.to_string(),
        line.route.clone(),
        line.destination.clone(),
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
        insta::assert_snapshot!(view(&[line(), retrying], 2), @"
        delivery                        state      route   destination  event type  ordering key           attempts  next or last (UTC)   error
        dlv_01ke6vafet00000000000000d1  succeeded  deploy  deployer     push        ref/1/refs/heads/main  2         2026-01-05 10:00:00
        dlv_01ke6vafet00000000000000d1  retrying   deploy  deployer     push        -                      2         2026-01-05 10:00:00  answered 503 Service Unavailable

        older ones: --before dlv_01ke6vafet00000000000000d1
        ");
        assert_eq!(view(&[], 2), "no deliveries");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let hostile =
                DeliveryLine { ordering_key: Some((*text).to_owned()), last_error: Some((*text).to_owned()), ..line() };
            let shown = view(&[hostile], 9).replace('\n', "");
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
