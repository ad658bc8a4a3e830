//! Takes hostile text (payloads, headers, ids) and gives text that is safe on a terminal: what could move the cursor,
//! start a colour, reorder or hide letters is shown as an escape. Never changes what it is given to visible letters.

use std::fmt::{self, Write as _};

/// Text that is shown with every control, bidirectional and invisible character escaped, line feeds and tabs too.
#[derive(Debug, Clone, Copy)]
pub struct Visible<'a>(pub &'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| write_letter(f, letter))
    }
}

/// Bytes of any origin, shown like [`Visible`]; what is not UTF-8 becomes `\xff`.
#[derive(Debug, Clone, Copy)]
pub struct VisibleBytes<'a>(pub &'a [u8]);

impl fmt::Display for VisibleBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            write!(f, "{}", Visible(chunk.valid()))?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// Cuts `text` after `letters_max` letters, with an ellipsis where something is missing.
#[must_use]
pub fn cut(text: &str, letters_max: usize) -> String {
    match text.char_indices().nth(letters_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn write_letter(f: &mut fmt::Formatter<'_>, letter: char) -> fmt::Result {
    match letter {
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        _ if is_hidden(letter) => write!(f, "\\u{{{:x}}}", u32::from(letter)),
        _ => f.write_char(letter),
    }
}

/// Whether a letter acts on a terminal or cannot be seen, instead of being a letter.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What senders may put into headers and payloads to deceive whoever reads them on a terminal (pitfall B133).
#[cfg(test)]
pub(crate) const HOSTILE: &[&str] = &[
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;https://evil.example\u{1b}\\here\u{1b}]8;;\u{1b}\\",
    "\u{9b}31m",
    "first\r\nX-Injected: second",
    "over\rwritten",
    "back\u{8}\u{8}\u{8}\u{8}",
    "nul\0nul",
    "\u{7f}delete",
    "user\u{202e}gpj.exe",
    "\u{2066}isolate\u{2069}",
    "zero\u{200b}width\u{feff}",
    "line\u{2028}separator",
    "tag\u{e0041}letters",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_sender_writes_reaches_the_terminal_as_a_control_character() {
        for text in HOSTILE {
            let shown = Visible(text).to_string();
            assert!(!shown.chars().any(is_hidden), "{shown:?}");
            assert_eq!(VisibleBytes(text.as_bytes()).to_string(), shown);
            assert_ne!(&shown, text, "the escape itself can be seen");
        }
    }

    #[test]
    fn letters_of_all_scripts_are_left_as_they_are() {
        for text in ["push", "Grüße", "日本語", "שלום", "👍", "a\\b \"c\""] {
            assert_eq!(Visible(text).to_string(), text);
        }
        assert_eq!(VisibleBytes(b"ok\xff\xe9!").to_string(), r"ok\xff\xe9!");
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!((cut("äöü", 3), cut("äöüß", 3)), ("äöü".to_owned(), "äöü…".to_owned()));
    }
}
