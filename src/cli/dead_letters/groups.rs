//! `oncehook dead-letters groups`: what dead letters died of, one line each.

use std::process::ExitCode;

use super::dead;
use crate::{
    cli::{
        Globals, access,
        deliveries::Filter,
        output::{print, print_json, table},
        stamp::short_stamp,
        visible::{Visible, cut},
    },
    operate::DeadLetterGroup,
};

/// Letters of an error that are shown. JSON tells all of a longer one.
const ERROR_LETTERS_MAX: usize = 120;

pub(super) async fn run(filter: &Filter, globals: &Globals) -> anyhow::Result<ExitCode> {
    let groups = access::with(globals, async |access| access.dead_letter_groups(&dead(filter)).await).await?;
    if globals.json {
        print_json(&groups)?
    } else {
        print(&view(&groups))?
    }
    Ok(ExitCode::SUCCESS)
}

fn view(groups: &[DeadLetterGroup]) -> String {
    if groups.is_empty() {
        return "no dead letters".to_owned();
    }
    let header = ["dead", "group", "route", "destination", "first (UTC)", "last (UTC)", "error of the last"];
    let page = table(&header, groups.iter().map(cells).collect());
    page + "\n\nAll of one: \"oncehook dead-letters retry --group GROUP\", or discard; --dry-run counts first."
}

fn cells(group: &DeadLetterGroup) -> Vec<String> {
    vec![
        group.count.to_string(),
        Visible(&group.group).to_string(),
        Visible(&group.route).to_string(),
        Visible(&group.destination).to_string(),
        short_stamp(group.first_at),
        short_stamp(group.last_at),
        Visible(&cut(&group.error, ERROR_LETTERS_MAX)).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn group(error: &str) -> DeadLetterGroup {
        DeadLetterGroup {
            group: "3f2a".to_owned(),
            route: "deploy".to_owned(),
            destination: "deployer".to_owned(),
            error: error.to_owned(),
            count: 1_204,
            first_at: sample::morning(),
            last_at: sample::morning(),
        }
    }

    #[test]
    fn what_they_died_of_has_one_line_each_and_says_what_to_do() {
        insta::assert_snapshot!(view(&[group("answered 404 Not Found")]), @r#"
        dead  group  route   destination  first (UTC)          last (UTC)           error of the last
        1204  3f2a   deploy  deployer     2026-01-05 10:00:00  2026-01-05 10:00:00  answered 404 Not Found

        All of one: "oncehook dead-letters retry --group GROUP", or discard; --dry-run counts first.
        "#);
        assert_eq!(view(&[]), "no dead letters");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&[group(text)]).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
