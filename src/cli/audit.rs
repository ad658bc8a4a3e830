//! `oncehook audit`: who changed what, when and why.

use std::process::ExitCode;

use chrono::{DateTime, Utc};

use super::{
    Globals, access,
    listing::{Listing, print_list},
    moment::moment,
    output::table,
    stamp::short_stamp,
    visible::{Visible, cut},
};
use crate::operate::{AuditLine, AuditQuery};

/// Shows who changed what, when and why, newest first.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only what this operator did: `anna@host` on the command line, the name of a token elsewhere.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only this: retry, cancel, discard, replay, release, promote, unblock, pause, resume, …
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only about this: `dlv_…`, `rcp_…`, the name of a route.
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only since then: `2h` (ago), `2026-01-05`, `2026-01-05T10:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// Only before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<DateTime<Utc>>,
    #[command(flatten)]
    listing: Listing,
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration is not usable or the database cannot be asked.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let Options { operator, action, subject, since, until, listing } = options;
    let query = AuditQuery { operator, action, subject, since, until, ..AuditQuery::default() };
    access::with(globals, async |access| {
        let page =
            async |cursor, limit| access.audit(&AuditQuery { cursor, limit: Some(limit), ..query.clone() }).await;
        let found = listing.collect(page).await?;
        print_list(&found, globals, view)
    })
    .await
}

fn view(lines: &[AuditLine]) -> String {
    if lines.is_empty() {
        return "nobody changed anything".to_owned();
    }
    table(&["at (UTC)", "operator", "via", "action", "subject", "reason"], lines.iter().map(cells).collect())
}

fn cells(line: &AuditLine) -> Vec<String> {
    vec![
        short_stamp(line.at),
        Visible(&line.operator).to_string(),
        line.via.as_str().to_owned(),
        Visible(&line.action).to_string(),
        Visible(&cut(&line.subject, 80)).to_string(),
        Visible(&cut(line.reason.as_deref().unwrap_or_default(), 100)).to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{sample, visible::HOSTILE},
        operate::Via,
    };

    fn line(text: &str) -> AuditLine {
        AuditLine {
            entry: 7,
            at: sample::morning(),
            operator: format!("anna@host{text}"),
            via: Via::CommandLine,
            action: "retry".to_owned(),
            subject: format!("dlv_01ke6vafet00000000000000d1{text}"),
            reason: Some(format!("fixed{text}")),
            details: serde_json::Value::Null,
        }
    }

    #[test]
    fn the_audit_log_has_one_line_a_change() {
        insta::assert_snapshot!(view(&[line("")]), @"
        at (UTC)             operator   via           action  subject                         reason
        2026-01-05 10:00:00  anna@host  command_line  retry   dlv_01ke6vafet00000000000000d1  fixed
        ");
        assert_eq!(view(&[]), "nobody changed anything");
        for text in HOSTILE {
            let shown = view(&[line(text)]).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
