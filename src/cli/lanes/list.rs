//! `oncehook lanes`: one line a lane.

use std::process::ExitCode;

use crate::{
    cli::{
        Globals, access,
        colour::{Paint, Palette},
        listing::{Listing, print_list},
        output::table,
        stamp::short_stamp,
        visible::{Visible, cut},
    },
    operate::LaneQuery,
    store::lane_list::LaneLine,
};

/// Letters of an ordering key that are shown. JSON tells all of a longer one.
const KEY_LETTERS_MAX: usize = 60;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Only lanes that a dead delivery blocks.
    #[arg(long)]
    blocked: bool,
    /// Only lanes of this route.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// Only lanes of this key.
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    #[command(flatten)]
    listing: Listing,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let query = LaneQuery {
        route: options.route.clone(),
        ordering_key: options.ordering_key.clone(),
        blocked: options.blocked.then_some(true),
        ..LaneQuery::default()
    };
    access::with(globals, async |access| {
        let page = async |cursor, limit| access.lanes(&LaneQuery { cursor, limit: Some(limit), ..query.clone() }).await;
        let found = options.listing.collect(page).await?;
        print_list(&found, globals, |lines| view(lines, globals.palette()))
    })
    .await
}

fn view(lines: &[LaneLine], palette: Palette) -> String {
    if lines.is_empty() {
        return "no lanes: nothing waits".to_owned();
    }
    let header = ["route", "ordering key", "unfinished", "open since (UTC)", "head", "state", "blocked by"];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    let blocked = |cell: &str| if cell == "-" { Paint::Plain } else { Paint::Bad };
    let mut page = palette.column(&table(&header, rows.clone()), &rows, 6, blocked);
    if lines.iter().any(|line| line.blocked_by.is_some()) {
        page += "\n\nA blocked lane goes on when its dead delivery is asked for again (\"oncehook deliveries retry\") or when it \
                 is unblocked (\"oncehook lanes unblock\").";
    }
    page
}

fn cells(line: &LaneLine) -> Vec<String> {
    let shown = |delivery: Option<crate::domain::DeliveryRef>| delivery.map_or("-".to_owned(), |id| id.to_string());
    vec![
        Visible(&line.route).to_string(),
        Visible(&cut(&line.ordering_key, KEY_LETTERS_MAX)).to_string(),
        line.unfinished.to_string(),
        short_stamp(line.opened_at),
        shown(line.head),
        line.head_state.map_or("-".to_owned(), |state| state.to_string()),
        shown(line.blocked_by),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{sample, visible::HOSTILE},
        domain::DeliveryState,
    };

    fn line() -> LaneLine {
        LaneLine {
            route: "deploy".to_owned(),
            ordering_key: "ref/1/refs/heads/main".to_owned(),
            opened_at: sample::morning(),
            unfinished: 3,
            head: Some(sample::delivery_ref()),
            head_state: Some(DeliveryState::Waiting),
            blocked_by: None,
            blocked_since: None,
        }
    }

    #[test]
    fn a_list_of_lanes_says_what_blocks_them_and_what_to_do() {
        assert_eq!(view(&[], Palette::plain()), "no lanes: nothing waits");
        assert!(!view(&[line()], Palette::plain()).contains("unblock"));
        let blocked = LaneLine {
            head: None,
            head_state: None,
            unfinished: 0,
            blocked_by: Some(sample::delivery_ref()),
            blocked_since: Some(sample::morning()),
            ..line()
        };
        insta::assert_snapshot!(view(&[line(), blocked], Palette::plain()), @r#"
        route   ordering key           unfinished  open since (UTC)     head                            state    blocked by
        deploy  ref/1/refs/heads/main  3           2026-01-05 10:00:00  dlv_01ke6vafet00000000000000d1  waiting  -
        deploy  ref/1/refs/heads/main  0           2026-01-05 10:00:00  -                               -        dlv_01ke6vafet00000000000000d1

        A blocked lane goes on when its dead delivery is asked for again ("oncehook deliveries retry") or when it is unblocked ("oncehook lanes unblock").
        "#);
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown =
                view(&[LaneLine { ordering_key: (*text).to_owned(), ..line() }], Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
