//! `oncehook sources`: the ways in, their secrets and when those were last used.

use std::process::ExitCode;

use super::{
    Globals, access,
    colour::{Paint, Palette},
    output::{print, print_json, table},
    stamp::short_stamp,
    visible::Visible,
};
use crate::operate::{SecretUse, SourceLine};

/// Shows sources, and which of their secrets are in use.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Lists sources, by name (as without a subcommand).
    List,
    /// Shows one source with its secrets: which were used when, and which are safe to drop.
    Show {
        /// Its name.
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable, the database cannot be asked, or there is no such source.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    match options.action {
        None | Some(Action::List) => {
            let sources = access::with(globals, async |access| access.sources().await).await?;
            if globals.json { print_json(&sources)? } else { print(&list_view(&sources))? }
        }
        Some(Action::Show { name }) => {
            let source = access::with(globals, async |access| access.source(&name).await).await?;
            if globals.json { print_json(&source)? } else { print(&view(&source, globals.palette()))? }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list_view(lines: &[SourceLine]) -> String {
    if lines.is_empty() {
        return "no sources: the configuration has none".to_owned();
    }
    let header =
        ["source", "provider", "path", "signed", "secrets", "replay guard", "last receipt (UTC)", "last 24 hours"];
    table(&header, lines.iter().map(cells).collect())
}

fn cells(line: &SourceLine) -> Vec<String> {
    let configured = line.secrets.iter().filter(|secret| secret.is_configured).count();
    vec![
        Visible(&line.source).to_string(),
        Visible(&line.provider).to_string(),
        Visible(&line.path).to_string(),
        Visible(line.scheme.as_deref().unwrap_or("no")).to_string(),
        configured.to_string(),
        Visible(&line.replay_guard).to_string(),
        line.last_receipt_at.map_or("never".to_owned(), short_stamp),
        last_day(line),
    ]
}

/// `12 accepted, 1 duplicate`.
fn last_day(line: &SourceLine) -> String {
    let parts: Vec<_> = line.last_day.iter().map(|(what, number)| format!("{number} {}", Visible(what))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}

fn view(source: &SourceLine, palette: Palette) -> String {
    let mut lines = vec![palette.paint(Paint::Strong, &format!("source {}", Visible(&source.source))), String::new()];
    let mut fact = |name: &str, value: &str| lines.push(format!("  {name:<13} {}", Visible(value)));
    fact("provider", &source.provider);
    fact("path", &source.path);
    fact("signed", source.scheme.as_deref().unwrap_or("no: anyone may post"));
    fact("replay guard", &source.replay_guard);
    fact(
        "routes",
        &if source.routes.is_empty() { "none: nothing is delivered".to_owned() } else { source.routes.join(", ") },
    );
    fact("last receipt", &source.last_receipt_at.map_or("never".to_owned(), |at| format!("{} UTC", short_stamp(at))));
    fact("last 24 hours", &last_day(source));
    lines.push(String::new());
    if source.secrets.is_empty() {
        lines.push("no secrets".to_owned());
        return lines.join("\n");
    }
    let header = ["secret", "caller", "configured", "first used (UTC)", "last used (UTC)", "uses", "what that means"];
    lines.push(table(&header, source.secrets.iter().map(secret_cells).collect()));
    lines.join("\n")
}

fn secret_cells(secret: &SecretUse) -> Vec<String> {
    let at = |time: Option<_>| time.map_or("-".to_owned(), short_stamp);
    vec![
        Visible(&secret.fingerprint).to_string(),
        Visible(secret.caller.as_deref().unwrap_or("-")).to_string(),
        if secret.is_configured { "yes" } else { "no" }.to_owned(),
        at(secret.first_used_at),
        at(secret.last_used_at),
        secret.uses.to_string(),
        Visible(&secret.advice).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    fn source(text: &str) -> SourceLine {
        let secret = SecretUse {
            fingerprint: "5eed5eed".to_owned(),
            caller: None,
            is_configured: true,
            first_used_at: Some(sample::morning()),
            last_used_at: Some(sample::morning()),
            uses: 12,
            advice: format!("in use{text}"),
        };
        SourceLine {
            source: "github".to_owned(),
            provider: "github".to_owned(),
            path: "/hooks/github".to_owned(),
            scheme: Some("github".to_owned()),
            replay_guard: "flag".to_owned(),
            secrets: vec![secret],
            routes: vec!["deploy".to_owned(), format!("ci{text}")],
            last_receipt_at: Some(sample::morning()),
            last_day: vec![("accepted".to_owned(), 12), (format!("duplicate{text}"), 1)],
        }
    }

    #[test]
    fn a_source_says_what_came_in_and_which_secrets_are_used() {
        let idle = SourceLine { last_receipt_at: None, last_day: vec![], scheme: None, ..source("") };
        insta::assert_snapshot!(list_view(&[source(""), idle]), @"
        source  provider  path           signed  secrets  replay guard  last receipt (UTC)   last 24 hours
        github  github    /hooks/github  github  1        flag          2026-01-05 10:00:00  12 accepted, 1 duplicate
        github  github    /hooks/github  no      1        flag          never                nothing
        ");
        insta::assert_snapshot!(view(&source(""), Palette::plain()), @"
        source github

          provider      github
          path          /hooks/github
          signed        github
          replay guard  flag
          routes        deploy, ci
          last receipt  2026-01-05 10:00:00 UTC
          last 24 hours 12 accepted, 1 duplicate

        secret    caller  configured  first used (UTC)     last used (UTC)      uses  what that means
        5eed5eed  -       yes         2026-01-05 10:00:00  2026-01-05 10:00:00  12    in use
        ");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = list_view(&[source(text)]) + &view(&source(text), Palette::plain());
            let shown = shown.replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
