//! What a check has found, and how it is shown: the worst first, each with what to do.

use std::fmt;

use crate::cli::{output::count, visible::Visible};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Works now, and will hurt.
    Warning,
    /// Does not work, or breaks a promise.
    Problem,
}

/// What one check has found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(super) struct Finding {
    /// What was looked at: stable, for scripts.
    pub(super) check: &'static str,
    /// How bad it is.
    pub(super) severity: Severity,
    /// What was found, in a sentence. Parts of it may be hostile text.
    pub(super) found: String,
    /// What to do; empty where nothing is to be done.
    pub(super) do_instead: String,
}

impl Finding {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, severity: Severity::Ok, found: found.into(), do_instead: String::new() }
    }

    pub(super) fn note(check: &'static str, found: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { check, severity: Severity::Note, found: found.into(), do_instead: instead.into() }
    }

    pub(super) fn warning(check: &'static str, found: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { check, severity: Severity::Warning, found: found.into(), do_instead: instead.into() }
    }

    pub(super) fn problem(check: &'static str, found: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { check, severity: Severity::Problem, found: found.into(), do_instead: instead.into() }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "WARNING",
            Self::Problem => "PROBLEM",
        })
    }
}

/// Whether the command ends with the exit code of findings.
pub(super) fn is_bad(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity >= Severity::Warning)
}

/// The findings for people.
pub(super) fn view(findings: &[Finding]) -> String {
    let mut sorted: Vec<_> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let mut text = String::new();
    for Finding { check, severity, found, do_instead } in sorted {
        text.push_str(&format!("{severity:<8} {check}: {}\n", safe(found)));
        if !do_instead.is_empty() {
            text.push_str(&format!("{:<8} → {}\n", "", safe(do_instead)));
        }
    }
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let (problems, warnings) = (of(Severity::Problem), of(Severity::Warning));
    let summary = match (problems, warnings) {
        (0, 0) => "nothing to worry about".to_owned(),
        _ => format!("{}, {}", count(problems, "problem", "problems"), count(warnings, "warning", "warnings")),
    };
    format!("{text}\n{summary}")
}

/// Lines of a mistake stay lines; everything else is made safe for a terminal.
fn safe(text: &str) -> String {
    let lines: Vec<_> = text.trim_end().split('\n').map(|line| Visible(line).to_string()).collect();
    lines.join("\n           ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::visible::HOSTILE;

    #[test]
    fn the_worst_comes_first_and_each_says_what_to_do() {
        let findings = [
            Finding::ok("schema", "the schema is that of this version"),
            Finding::warning("dead letters", "3 dead letters", "oncehook dead-letters lists them"),
            Finding::problem("workers", "no worker is alive", "start oncehook serve"),
        ];
        insta::assert_snapshot!(view(&findings), @r"
        PROBLEM  workers: no worker is alive
                 → start oncehook serve
        WARNING  dead letters: 3 dead letters
                 → oncehook dead-letters lists them
        ok       schema: the schema is that of this version

        1 problem, 1 warning
        ");
        assert!(is_bad(&findings) && !is_bad(&findings[..1]));
        assert!(view(&findings[..1]).ends_with("\nnothing to worry about"));
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&[Finding::warning("destinations", *text, *text)]).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
