//! What came of a replay, for people and as JSON. Pure.

use super::{folder::Piece, sending::Sendings, suite::Case};
use crate::cli::{
    output::count,
    send::{load::LoadReport, post::Answer},
    visible::Visible,
};

/// Failures that are listed one by one.
const LISTED_MAX: usize = 20;

/// What came of a replay.
#[derive(Debug, serde::Serialize)]
pub(super) struct Report {
    planned: usize,
    pub(super) was_stopped: bool,
    #[serde(flatten)]
    load: LoadReport,
    /// Requests that were not answered with a 2xx.
    failures: Vec<Failed>,
    /// With --expect: what was expected of each file, and missed.
    pub(super) cases: Option<Vec<Case>>,
}

/// A request that was not accepted.
#[derive(Debug, serde::Serialize)]
struct Failed {
    file: String,
    delivery_id: String,
    /// What was answered, or why nothing was.
    answer: String,
}

impl Report {
    pub(super) fn of(pieces: &[Piece], sendings: &Sendings, cases: Option<Vec<Case>>) -> Self {
        let failures = sendings.sent.iter().filter_map(|sent| {
            let answer = match &sent.answer {
                Ok(answer) if answer.is_success() => return None,
                Ok(answer) => told(answer),
                Err(why) => why.clone(),
            };
            let piece = &pieces[sent.turn.fixture];
            Some(Failed { file: piece.path.display().to_string(), delivery_id: piece.delivery_id.clone(), answer })
        });
        let failures = failures.collect();
        let samples = sendings.sent.iter().map(|sent| (sent.took, sent.answer.clone())).collect();
        Self {
            planned: pieces.len(),
            was_stopped: sendings.was_stopped,
            load: LoadReport::of(samples, sendings.connections, sendings.took),
            failures,
            cases,
        }
    }

    /// Whether everything was accepted; with --expect, whether everything is as expected.
    pub(super) fn is_good(&self) -> bool {
        match &self.cases {
            Some(cases) => cases.iter().all(Case::is_passed),
            None => self.load.all_succeeded(),
        }
    }

    /// For people.
    pub(super) fn view(&self) -> String {
        let mut lines = Vec::new();
        if let Some(cases) = &self.cases {
            lines.extend(cases.iter().flat_map(case_lines));
            let failed = cases.iter().filter(|case| !case.is_passed()).count();
            lines.push(format!("\n{} as expected, {failed} not", cases.len() - failed));
        } else {
            lines.push(self.load.view());
            let failures = self.failures.iter().take(LISTED_MAX);
            lines.extend(failures.map(|failed| {
                format!(
                    "failed: {} ({}): {}",
                    Visible(&failed.file),
                    Visible(&failed.delivery_id),
                    Visible(&failed.answer)
                )
            }));
            if self.failures.len() > LISTED_MAX {
                lines.push(format!("… and {} more", self.failures.len() - LISTED_MAX));
            }
        }
        if self.was_stopped {
            lines.push(format!("stopped: {} were to be sent", count(self.planned, "fixture", "fixtures")));
        }
        lines.join("\n")
    }
}

/// What an answer that is no 2xx says, with its reason.
fn told(answer: &Answer) -> String {
    answer.text("detail").map_or_else(|| answer.label(), |detail| format!("{}: {detail}", answer.label()))
}

fn case_lines(case: &Case) -> Vec<String> {
    let file = Visible(&case.file);
    if case.is_passed() {
        let remark = if case.has_expectations { "" } else { "  (accepted; nothing else is expected)" };
        return vec![format!("ok    {file}{remark}")];
    }
    let mut lines = vec![format!("FAIL  {file}")];
    lines.extend(case.misses.iter().map(|miss| {
        format!("        {}: expected {}, found {}", Visible(&miss.key), Visible(&miss.expected), Visible(&miss.found))
    }));
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::fixture::expect::Miss;

    /// A file that is as expected, one that is not, one of which nothing is expected; with names that would like to be more.
    pub fn cases() -> Vec<Case> {
        let miss = |key: &str, expected: &str, found: &str| Miss {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        let case = |file: &str, has_expectations, misses| Case {
            file: file.to_owned(),
            took_ms: 1_234,
            has_expectations,
            misses,
        };
        vec![
            case("fixtures/github/push.http", true, vec![]),
            case(
                "fixtures/stripe/invoice.paid.http",
                true,
                vec![
                    miss("answer", "accepted", "duplicate"),
                    miss("event_type", "invoice.paid", "<&\"']]>\u{1b}[2J\nnot ok 1 # \u{202e}"),
                ],
            ),
            case("a # TODO <b>.http", false, vec![]),
        ]
    }

    #[test]
    fn a_suite_is_told_line_by_line_and_safely() {
        let lines: Vec<_> = cases().iter().flat_map(case_lines).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        ok    fixtures/github/push.http
        FAIL  fixtures/stripe/invoice.paid.http
                answer: expected accepted, found duplicate
                event_type: expected invoice.paid, found <&"']]>\u{1b}[2J\nnot ok 1 # \u{202e}
        ok    a # TODO <b>.http  (accepted; nothing else is expected)
        "#);
    }
}
