//! `oncehook destinations`: where deliveries end, how that goes, and pausing one.

use std::process::ExitCode;

use super::{
    Globals, access,
    colour::{Paint, Palette},
    output::{print, print_json, table},
    pausing::{self, Pausing},
    stamp::short_stamp,
    visible::{Visible, cut},
};
use crate::operate::{Breaker, DestinationLine, Pausable};

/// Shows destinations and how they do, pauses and resumes one.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists destinations, by name (as without a subcommand).
    List,
    /// Holds deliveries to a destination back, of whatever route. They wait, in order.
    Pause(Pausing),
    /// Lets them go again.
    Resume(Pausing),
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or the change is refused.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None | Some(Action::List) => {
            let lines = access::with(globals, async |access| access.destinations().await).await?;
            if globals.json {
                print_json(&lines)?
            } else {
                print(&view(&lines, globals.palette()))?
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Action::Pause(pausing)) => pausing::pause(Pausable::Destination, &pausing, globals).await,
        Some(Action::Resume(pausing)) => pausing::resume(Pausable::Destination, &pausing, globals).await,
    }
}

fn view(lines: &[DestinationLine], palette: Palette) -> String {
    if lines.is_empty() {
        return "no destinations: the configuration has none".to_owned();
    }
    let header = [
        "destination",
        "kind",
        "state",
        "unfinished",
        "dead",
        "last success (UTC)",
        "last failure (UTC)",
        "how that ended",
    ];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    let paint = |state: &str| match state {
        "well" => Paint::Good,
        "failing" => Paint::Bad,
        _ => Paint::Waiting,
    };
    palette.column(&table(&header, rows.clone()), &rows, 2, paint)
}

fn cells(line: &DestinationLine) -> Vec<String> {
    let at = |time: Option<_>| time.map_or("-".to_owned(), short_stamp);
    let state = match (&line.paused, line.breaker) {
        (Some(_), _) => "paused",
        (None, Breaker::Open) => "failing",
        (None, Breaker::Closed) => "well",
    };
    vec![
        Visible(&line.destination).to_string(),
        format!("{} {}", Visible(&line.kind), Visible(&line.place)).trim_end().to_owned(),
        state.to_owned(),
        line.unfinished.to_string(),
        line.dead.to_string(),
        at(line.last_success_at),
        at(line.last_failure_at),
        Visible(&cut(line.last_failure.as_deref().unwrap_or_default(), 100)).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{sample, visible::HOSTILE},
        operate::Paused,
    };

    fn line(text: &str) -> DestinationLine {
        DestinationLine {
            destination: "deployer".to_owned(),
            kind: "http".to_owned(),
            place: format!("http://127.0.0.1:9000/hooks{text}"),
            routes: vec!["deploy".to_owned()],
            paused: None,
            breaker: Breaker::Closed,
            last_success_at: Some(sample::morning()),
            last_failure_at: None,
            last_failure: Some(format!("answered 503 Service Unavailable{text}")),
            unfinished: 3,
            dead: 1,
        }
    }

    #[test]
    fn a_list_of_destinations_says_how_they_do() {
        let pause = Paused {
            kind: Pausable::Destination,
            name: "deployer".to_owned(),
            since: sample::morning(),
            by: "anna".to_owned(),
            reason: None,
        };
        let failing = DestinationLine { breaker: Breaker::Open, ..line("") };
        insta::assert_snapshot!(view(&[line(""), failing, DestinationLine { paused: Some(pause), ..line("") }], Palette::plain()), @"
        destination  kind                              state    unfinished  dead  last success (UTC)   last failure (UTC)  how that ended
        deployer     http http://127.0.0.1:9000/hooks  well     3           1     2026-01-05 10:00:00  -                   answered 503 Service Unavailable
        deployer     http http://127.0.0.1:9000/hooks  failing  3           1     2026-01-05 10:00:00  -                   answered 503 Service Unavailable
        deployer     http http://127.0.0.1:9000/hooks  paused   3           1     2026-01-05 10:00:00  -                   answered 503 Service Unavailable
        ");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&[line(text)], Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
