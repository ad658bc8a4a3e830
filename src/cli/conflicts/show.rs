//! `oncehook conflicts show`: one conflict, and how it differs from the first payload.

use std::process::ExitCode;

use super::difference::difference;
use crate::cli::{
    Globals, access,
    access::ConflictTexts,
    colour::{Paint, Palette},
    output::{print, print_json},
    payload_text::body_of,
    payload_view::payload_lines,
    stamp::stamp,
    visible::Visible,
};

pub(super) async fn run(conflict: i64, globals: &Globals) -> anyhow::Result<ExitCode> {
    let found = access::with(globals, async |access| access.conflict(conflict).await).await?;
    if globals.json {
        print_json(&found)?
    } else {
        print(&view(&found, globals.palette())?)?
    }
    Ok(ExitCode::SUCCESS)
}

fn view(found: &ConflictTexts, palette: Palette) -> anyhow::Result<String> {
    let line = &found.line;
    let mut lines = vec![palette.paint(Paint::Strong, &format!("conflict {}", line.conflict)), String::new()];
    match (line.promoted_to, line.promoted_at) {
        (Some(receipt), Some(at)) => {
            lines.push(format!("It was promoted at {} UTC: it is the receipt {receipt} now.", stamp(at)));
        }
        _ => lines.push(format!(
            "It came under the delivery id of another payload: it is kept, and not run. \"oncehook conflicts promote {}\" makes a \
             receipt of it.",
            line.conflict
        )),
    }
    lines.push(String::new());
    let mut fact = |name: &str, value: &str| lines.push(format!("  {name:<13} {}", Visible(value)));
    fact("first receipt", &line.receipt.to_string());
    fact("source", &line.source);
    fact("delivery id", &line.delivery_id);
    fact("event type", &line.event_type);
    fact("arrived", &format!("{} UTC", stamp(line.arrived_at)));
    fact("body", &format!("{} bytes, sha256:{}", line.body_bytes, line.body_digest));
    lines.push(String::new());
    let other = body_of(&found.other)?;
    match &found.first {
        Some(first) => {
            lines.push(
                palette.paint(Paint::Strong, "from the first payload (-) to this one (+), white space made alike"),
            );
            lines.extend(difference(&body_of(first)?, &other, palette).into_iter().map(|line| format!("  {line}")));
        }
        None => {
            lines.push("the first payload is no longer kept; this one:".to_owned());
            lines.extend(payload_lines(&other).into_iter().map(|line| format!("  {line}")));
        }
    }
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{payload_text::payload_text, sample, visible::HOSTILE},
        store::receipt_story::Payload,
    };

    fn conflict(first: Option<&str>, other: &str) -> ConflictTexts {
        let payload =
            |body: &str| payload_text(&Payload { headers: [("a", "b")].into_iter().collect(), body: body.into() });
        ConflictTexts { line: sample::conflict_line(), first: first.map(payload), other: payload(other) }
    }

    #[test]
    fn a_conflict_shows_how_it_differs() {
        let found = conflict(Some(r#"{"ref":"main","n":1}"#), r#"{ "ref": "main", "n": 2, "new": true }"#);
        insta::assert_snapshot!(view(&found, Palette::plain()).unwrap(), @r#"
        conflict 1

        It came under the delivery id of another payload: it is kept, and not run. "oncehook conflicts promote 1" makes a receipt of it.

          first receipt rcp_01ke6vafet00000000000000r1
          source        github
          delivery id   0b989ba4-242f-11e5-81e1-c7b6966d2516
          event type    push
          arrived       2026-01-05 10:00:00.250 UTC
          body          7 bytes, sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc

        from the first payload (-) to this one (+), white space made alike
            {
              "ref": "main",
          -   "n": 1
          +   "n": 2,
          +   "new": true
            }
        "#);
        let alone = view(&conflict(None, "{}"), Palette::plain()).unwrap();
        assert!(alone.ends_with("the first payload is no longer kept; this one:\n  {}"), "{alone}");
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            for first in [None, Some("x"), Some(*text)] {
                let shown = view(&conflict(first, text), Palette::plain()).unwrap().replace('\n', "");
                assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
            }
        }
    }
}
