//! TAP 14 (testanything.org): what test harnesses read. Pure.

use super::suite::Case;
use crate::cli::visible::Visible;

/// The whole output.
pub(super) fn tap(cases: &[Case]) -> String {
    let mut lines = vec!["TAP version 14".to_owned(), format!("1..{}", cases.len())];
    for (number, case) in cases.iter().enumerate() {
        let verdict = if case.is_passed() { "ok" } else { "not ok" };
        lines.push(format!("{verdict} {} - {}", number + 1, description(&case.file)));
        if !case.is_passed() {
            lines.push("  ---".to_owned());
            lines.push(format!("  duration_ms: {}", case.took_ms));
            lines.push("  misses:".to_owned());
            for miss in &case.misses {
                // A string of JSON is one of YAML.
                let text = |text: &str| serde_json::Value::from(Visible(text).to_string());
                lines.push(format!("    - key: {}", text(&miss.key)));
                lines.push(format!("      expected: {}", text(&miss.expected)));
                lines.push(format!("      found: {}", text(&miss.found)));
            }
            lines.push("  ...".to_owned());
        }
    }
    lines.join("\n")
}

/// A `#` would begin a directive.
fn description(file: &str) -> String {
    Visible(file).to_string().replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::{super::report::tests::cases, *};

    #[test]
    fn each_file_is_a_test_and_nothing_can_pretend_to_be_another() {
        insta::assert_snapshot!(tap(&cases()), @r#"
        TAP version 14
        1..3
        ok 1 - fixtures/github/push.http
        not ok 2 - fixtures/stripe/invoice.paid.http
          ---
          duration_ms: 1234
          misses:
            - key: "answer"
              expected: "accepted"
              found: "duplicate"
            - key: "event_type"
              expected: "invoice.paid"
              found: "<&\"']]>\\u{1b}[2J\\nnot ok 1 # \\u{202e}"
          ...
        ok 3 - a \# TODO <b>.http
        "#);
    }
}
