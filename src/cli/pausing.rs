//! `oncehook pauses`, and pausing and resuming for `routes` and `destinations`.

use std::process::ExitCode;

use super::{
    Globals, access,
    output::{print, print_json, table},
    reason::{Reason, print_changed},
    stamp::short_stamp,
    visible::{Visible, cut},
};
use crate::operate::{Pausable, Paused};

/// Shows what is paused, since when, by whom and why.
#[derive(Debug, clap::Args)]
pub struct Options {}

/// What to pause or resume.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub struct Pausing {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    reason: Reason,
}

/// Runs `oncehook pauses`.
///
/// # Errors
/// When the configuration is not usable or the database cannot be asked.
pub async fn run(_options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let pauses = access::with(globals, async |access| access.pauses().await).await?;
    if globals.json {
        print_json(&pauses)?
    } else {
        print(&view(&pauses))?
    }
    Ok(ExitCode::SUCCESS)
}

/// Pauses.
///
/// # Errors
/// When there is no such thing, or it is paused already.
pub async fn pause(kind: Pausable, what: &Pausing, globals: &Globals) -> anyhow::Result<ExitCode> {
    let paused = async |access: &access::Access| access.pause(kind, &what.name, what.reason.text()).await;
    print_changed(&access::with(globals, paused).await?, globals)
}

/// Ends a pause.
///
/// # Errors
/// When it is not paused.
pub async fn resume(kind: Pausable, what: &Pausing, globals: &Globals) -> anyhow::Result<ExitCode> {
    let resumed = async |access: &access::Access| access.resume(kind, &what.name, what.reason.text()).await;
    print_changed(&access::with(globals, resumed).await?, globals)
}

fn view(pauses: &[Paused]) -> String {
    if pauses.is_empty() {
        return "nothing is paused".to_owned();
    }
    table(&["kind", "name", "since (UTC)", "by", "reason"], pauses.iter().map(cells).collect())
}

fn cells(pause: &Paused) -> Vec<String> {
    vec![
        pause.kind.as_str().to_owned(),
        Visible(&pause.name).to_string(),
        short_stamp(pause.since),
        Visible(&pause.by).to_string(),
        Visible(&cut(pause.reason.as_deref().unwrap_or_default(), 100)).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn pause(text: &str) -> Paused {
        Paused {
            kind: Pausable::Route,
            name: "deploy".to_owned(),
            since: sample::morning(),
            by: format!("anna@host{text}"),
            reason: Some(format!("maintenance{text}")),
        }
    }

    #[test]
    fn pauses_say_since_when_by_whom_and_why() {
        insta::assert_snapshot!(view(&[pause("")]), @"
        kind   name    since (UTC)          by         reason
        route  deploy  2026-01-05 10:00:00  anna@host  maintenance
        ");
        assert_eq!(view(&[]), "nothing is paused");
        for text in HOSTILE {
            let shown = view(&[pause(text)]).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
