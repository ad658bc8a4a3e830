//! A payload for a page: indented where it is JSON, as it came otherwise; bounded, and as text only.

use crate::cli::{payload_view::indent, visible::VisibleBytes};

/// Bytes of a payload that a page shows; the rest is behind the download link.
pub(super) const SHOWN_BYTES_MAX: usize = 256 * 1024;

/// What is shown of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// The text: what acts on a terminal or cannot be seen is written out.
    pub(super) text: String,
    /// Whether it is JSON, and was indented.
    pub(super) is_json: bool,
    /// Whether more is there.
    pub(super) is_cut: bool,
    /// Whether there are bytes that are no UTF-8.
    pub(super) is_binary: bool,
}

/// Indented, where it is JSON. Numbers, repeated members and their order stay as they were sent.
pub(super) fn pretty(body: &[u8]) -> Shown {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    let seen = &body[..body.len().min(SHOWN_BYTES_MAX)];
    let text = if is_json { indent(seen) } else { seen.to_vec() };
    // White space of deep nesting could be most of it.
    let kept = &text[..text.len().min(2 * SHOWN_BYTES_MAX)];
    Shown {
        text: lines(kept),
        is_json,
        is_cut: seen.len() < body.len() || kept.len() < text.len(),
        is_binary: std::str::from_utf8(body).is_err(),
    }
}

/// As it came.
pub(super) fn raw(body: &[u8]) -> String {
    lines(&body[..body.len().min(SHOWN_BYTES_MAX)])
}

/// Line by line, so that line feeds stay and everything else that cannot be seen is written out.
pub(super) fn lines(text: &[u8]) -> String {
    let told = text
        .split(|byte| *byte == b'\n')
        .map(|line| VisibleBytes(line.strip_suffix(b"\r").unwrap_or(line)).to_string());
    told.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_everything_else_stays_as_it_came() {
        let shown = pretty(br#"{"b":1e200000,"a":"<script>"}"#);
        assert_eq!(shown.text, "{\n  \"b\": 1e200000,\n  \"a\": \"<script>\"\n}");
        assert!(shown.is_json && !shown.is_cut);
        assert_eq!(pretty(b"payload=%7B%7D").text, "payload=%7B%7D");
        let binary = pretty(b"\xff\x1b[2J\nsecond\r\n");
        assert!(binary.is_binary && binary.text == "\\xff\\u{1b}[2J\nsecond\n", "{binary:?}");
    }

    #[test]
    fn a_large_payload_is_cut_and_says_so() {
        let body = format!("[{}0]", "0,".repeat(1_000_000));
        let shown = pretty(body.as_bytes());
        assert!(shown.is_cut && shown.text.len() <= 2 * SHOWN_BYTES_MAX);
        assert!(!pretty(b"[0]").is_cut);
        let deep = "[".repeat(100_000);
        assert!(pretty(deep.as_bytes()).text.len() <= 2 * SHOWN_BYTES_MAX);
    }
}
