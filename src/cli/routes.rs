//! `oncehook routes`: which events go where, and pausing a route.

use std::process::ExitCode;

use super::{
    Globals, access,
    colour::{Paint, Palette},
    output::{print, print_json, table},
    pausing::{self, Pausing},
    visible::{Visible, cut},
};
use crate::operate::{Pausable, RouteLine};

/// Shows routes, pauses and resumes one.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists routes, as written (as without a subcommand).
    List,
    /// Holds the deliveries of a route back, wherever they go. They wait, in order.
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
            let lines = access::with(globals, async |access| access.routes().await).await?;
            if globals.json {
                print_json(&lines)?
            } else {
                print(&view(&lines, globals.palette()))?
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Action::Pause(pausing)) => pausing::pause(Pausable::Route, &pausing, globals).await,
        Some(Action::Resume(pausing)) => pausing::resume(Pausable::Route, &pausing, globals).await,
    }
}

fn view(lines: &[RouteLine], palette: Palette) -> String {
    if lines.is_empty() {
        return "no routes: the configuration has none".to_owned();
    }
    let header =
        ["route", "source", "events", "filter", "order", "destination", "on dead", "state", "unfinished", "dead"];
    let rows: Vec<_> = lines.iter().map(cells).collect();
    let paint = |state: &str| if state == "paused" { Paint::Waiting } else { Paint::Good };
    palette.column(&table(&header, rows.clone()), &rows, 7, paint)
}

fn cells(line: &RouteLine) -> Vec<String> {
    let order =
        if line.order == "none" { "none".to_owned() } else { format!("{} by {}", line.order, line.ordering_key) };
    vec![
        Visible(&line.route).to_string(),
        Visible(&line.source).to_string(),
        Visible(&cut(&line.events.join(", "), 60)).to_string(),
        Visible(&cut(line.filter.as_deref().unwrap_or("-"), 60)).to_string(),
        Visible(&order).to_string(),
        Visible(&line.destination).to_string(),
        Visible(&line.on_dead).to_string(),
        if line.paused.is_some() { "paused" } else { "open" }.to_owned(),
        line.unfinished.to_string(),
        line.dead.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::visible::HOSTILE;

    fn line(text: &str) -> RouteLine {
        RouteLine {
            route: "deploy".to_owned(),
            source: "github".to_owned(),
            events: vec!["push".to_owned(), format!("release.*{text}")],
            filter: Some(format!("payload.ref == \"refs/heads/main\"{text}")),
            order: "arrival".to_owned(),
            ordering_key: format!("ref{text}"),
            destination: "deployer".to_owned(),
            on_dead: "continue".to_owned(),
            paused: None,
            unfinished: 3,
            dead: 0,
        }
    }

    #[test]
    fn a_list_of_routes_has_one_line_each() {
        insta::assert_snapshot!(view(&[line("")], Palette::plain()), @r#"
        route   source  events           filter                            order           destination  on dead   state  unfinished  dead
        deploy  github  push, release.*  payload.ref == "refs/heads/main"  arrival by ref  deployer     continue  open   3           0
        "#);
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&[line(text)], Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
