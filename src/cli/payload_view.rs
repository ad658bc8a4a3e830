//! Takes a payload, byte for byte as it came, and gives indented, bounded text for a terminal. Numbers, the order of members and
//! repeated members stay as they were sent: only the white space between tokens changes. Never fails.

use super::visible::VisibleBytes;

/// Bytes of a payload that are looked at for a view; `--raw` gives all.
const VIEW_BYTES_MAX: usize = 256 * 1024;

/// Lines that are shown.
const VIEW_LINES_MAX: usize = 120;

/// Letters of a line that are shown.
const VIEW_LINE_LETTERS_MAX: usize = 500;

/// The payload as lines without line feeds, safe for a terminal. The last line says so if something was left out.
#[must_use]
pub fn payload_lines(body: &[u8]) -> Vec<String> {
    let mut lines = all_lines(body);
    let is_cut = lines.len() > VIEW_LINES_MAX || body.len() > VIEW_BYTES_MAX;
    lines.truncate(VIEW_LINES_MAX);
    if is_cut {
        lines.push(format!("… cut here: the payload has {} bytes, --raw writes all of them", body.len()));
    }
    lines
}

/// All lines of the payload within the first [`VIEW_BYTES_MAX`] bytes, laid out the same way: for comparing two.
#[must_use]
pub fn all_lines(body: &[u8]) -> Vec<String> {
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    let seen = &body[..body.len().min(VIEW_BYTES_MAX)];
    let text = if is_json { indent(seen) } else { seen.to_vec() };
    text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n').map(shown).collect()
}

fn shown(line: &[u8]) -> String {
    super::visible::cut(&VisibleBytes(line).to_string(), VIEW_LINE_LETTERS_MAX)
}

/// Breaks a line after each bracket and comma outside strings.
fn indent(json: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_string {
            text.push(byte);
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => {
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                text.push(byte);
                if let Some(close) = bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    text.push(close);
                } else {
                    depth += 1;
                    break_line(&mut text, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut text, depth);
                text.push(byte);
            }
            b',' => {
                text.push(byte);
                break_line(&mut text, depth);
            }
            b':' => text.extend_from_slice(b": "),
            _ => {
                in_string = byte == b'"';
                text.push(byte);
            }
        }
    }
    text
}

fn break_line(text: &mut Vec<u8>, depth: usize) {
    text.push(b'\n');
    text.extend(std::iter::repeat_n(b' ', depth * 2));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_keeps_its_numbers_and_its_order() {
        let body = br#"{"b":1e200000,"a":[1,{"c":"x, {y}: \"z\\"}],"e":{ },"a":0.10}"#;
        insta::assert_snapshot!(payload_lines(body).join("\n"), @r#"
        {
          "b": 1e200000,
          "a": [
            1,
            {
              "c": "x, {y}: \"z\\"
            }
          ],
          "e": {},
          "a": 0.10
        }
        "#);
    }

    #[test]
    fn what_is_not_json_is_shown_as_it_is_and_safely() {
        assert_eq!(payload_lines(b"payload=%7B%7D"), ["payload=%7B%7D"]);
        assert_eq!(payload_lines(b"one\ntwo\x1b[2J\r\n\xff\0"), ["one", "two\\u{1b}[2J\\r", "\\xff\\u{0}"]);
        assert_eq!(payload_lines(b"{\"a\":\"\xe2\x80\xae\"}"), ["{", "  \"a\": \"\\u{202e}\"", "}"]);
        assert_eq!(payload_lines(b""), [""]);
    }

    #[test]
    fn a_large_payload_is_cut_and_says_how_to_see_all_of_it() {
        let body = format!("[{}0]", "0,".repeat(1_000_000));
        let lines = payload_lines(body.as_bytes());
        assert_eq!(lines.len(), VIEW_LINES_MAX + 1);
        assert_eq!(lines.last().unwrap(), "… cut here: the payload has 2000003 bytes, --raw writes all of them");
        let line = payload_lines("x".repeat(10_000).as_bytes());
        assert_eq!(line[0].chars().count(), VIEW_LINE_LETTERS_MAX + 1);
    }
}
