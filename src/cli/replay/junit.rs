//! `JUnit` XML: what CI systems show. Pure. Written here rather than with a library: it is one element with three attributes.

use std::{collections::BTreeMap, fmt::Write as _};

use super::suite::Case;
use crate::cli::visible::Visible;

/// The whole document: a suite a folder.
pub(super) fn junit(cases: &[Case]) -> String {
    let mut folders: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        folders.entry(folder_and_name(&case.file).0).or_default().push(case);
    }
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(xml, "<testsuites name=\"oncehook replay\" {}>", counts(cases.iter())); // into a string it cannot fail
    for (folder, cases) in folders {
        let _ = writeln!(xml, "  <testsuite name=\"{}\" {}>", escaped(folder), counts(cases.iter().copied()));
        cases.iter().for_each(|case| xml.push_str(&test_case(case)));
        xml.push_str("  </testsuite>\n");
    }
    xml + "</testsuites>\n"
}

fn test_case(case: &Case) -> String {
    let (folder, name) = folder_and_name(&case.file);
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        escaped(folder),
        escaped(name),
        seconds(case.took_ms)
    );
    if case.is_passed() {
        return format!("{head}/>\n");
    }
    let misses: Vec<_> = case
        .misses
        .iter()
        .map(|miss| escaped(&format!("{}: expected {}, found {}", miss.key, miss.expected, miss.found)))
        .collect();
    let first = misses.first().map(String::as_str).unwrap_or_default();
    format!("{head}>\n      <failure message=\"{first}\">{}</failure>\n    </testcase>\n", misses.join("\n"))
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> String {
    let failures = cases.clone().filter(|case| !case.is_passed()).count();
    let took = seconds(cases.clone().map(|case| case.took_ms).sum());
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" time=\"{took}\"", cases.count())
}

fn folder_and_name(file: &str) -> (&str, &str) {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    (folder, name.strip_suffix(".http").unwrap_or(name))
}

fn seconds(milliseconds: u128) -> String {
    format!("{}.{:03}", milliseconds / 1_000, milliseconds % 1_000)
}

/// XML has no way to write control characters; they are shown as escapes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in Visible(text).to_string().chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // These two are letters to Unicode and not to XML.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{super::report::tests::cases, *};

    #[test]
    fn each_folder_is_a_suite_and_all_text_is_escaped() {
        insta::assert_snapshot!(junit(&cases()), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="oncehook replay" tests="3" failures="1" errors="0" time="3.702">
          <testsuite name="" tests="1" failures="0" errors="0" time="1.234">
            <testcase classname="" name="a # TODO &lt;b&gt;" time="1.234"/>
          </testsuite>
          <testsuite name="fixtures/github" tests="1" failures="0" errors="0" time="1.234">
            <testcase classname="fixtures/github" name="push" time="1.234"/>
          </testsuite>
          <testsuite name="fixtures/stripe" tests="1" failures="1" errors="0" time="1.234">
            <testcase classname="fixtures/stripe" name="invoice.paid" time="1.234">
              <failure message="answer: expected accepted, found duplicate">answer: expected accepted, found duplicate
        event_type: expected invoice.paid, found &lt;&amp;&quot;&apos;]]&gt;\u{1b}[2J\nnot ok 1 # \u{202e}</failure>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}
