//! Survey: finds in a JSON text of sound grammar what other readers trip over. Takes bytes, gives places; never
//! allocates, never recurses, passes once.

/// `serde_json` gives up where arrays and objects nest this deep.
const DEPTH_LIMIT: usize = 128;

/// Where a JSON text holds what some readers refuse. Places count bytes from 1, and each is the first of its kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Half of a `\ud83d\ude00` pair: no Unicode text. `serde_json` and PostgreSQL refuse it.
    pub(super) lone_surrogate: Option<usize>,
    /// `\u0000`: legal JSON, but PostgreSQL's jsonb and text cannot hold it.
    pub(super) nul_escape: Option<usize>,
    /// A bracket that opens the 128th level.
    pub(super) too_deep: Option<usize>,
    /// A number beyond 64-bit floating point.
    pub(super) too_large: Option<usize>,
    /// A control character in an object's key, written as it is. (In values the grammar check finds it.)
    pub(super) control_character: Option<usize>,
}

/// Passes over `json`.
pub(super) fn survey(json: &[u8]) -> Survey {
    let mut survey = Survey::default();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => at = survey.pass_string(json, at + 1),
            b'[' | b'{' => {
                depth += 1;
                if depth >= DEPTH_LIMIT {
                    survey.too_deep.get_or_insert(at + 1);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'0'..=b'9' => at = survey.pass_number(json, at),
            _ => {}
        }
        at += 1;
    }
    survey
}

impl Survey {
    /// Passes over a string whose first character is at `at`; gives the place of its closing quote.
    fn pass_string(&mut self, json: &[u8], mut at: usize) -> usize {
        // The place of a leading surrogate that still waits for its other half.
        let mut waiting: Option<usize> = None;
        while let Some(rest) = json.get(at..) {
            // Most of a payload is plain text in strings: this line is what the pass costs.
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
            at += plain;
            let Some(&byte) = json.get(at) else { break };
            let unit = if byte == b'\\' && json.get(at + 1) == Some(&b'u') { hex_unit(json, at + 2) } else { None };
            let is_trailing = matches!(unit, Some(0xDC00..=0xDFFF));
            match waiting.take() {
                Some(_) if is_trailing && plain == 0 => {}
                Some(lead) => _ = self.lone_surrogate.get_or_insert(lead + 1),
                None if is_trailing => _ = self.lone_surrogate.get_or_insert(at + 1),
                None => {}
            }
            match (byte, unit) {
                (b'"', _) => return at,
                (_, Some(0xD800..=0xDBFF)) => waiting = Some(at),
                (_, Some(0)) => _ = self.nul_escape.get_or_insert(at + 1),
                (0..0x20, _) => _ = self.control_character.get_or_insert(at + 1),
                _ => {}
            }
            at += match (byte, unit) {
                (_, Some(_)) => 6,
                (b'\\', None) => 2,
                _ => 1,
            };
        }
        json.len()
    }

    /// Passes over a number whose first digit is at `at`; gives the place of its last character.
    fn pass_number(&mut self, json: &[u8], at: usize) -> usize {
        let rest = json.get(at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .unwrap_or(rest.len());
        let number = &rest[..length];
        // Below 300 digits and without exponent it fits, and most numbers need no closer look.
        let may_be_large = length > 300 || number.iter().any(|byte| matches!(byte, b'e' | b'E'));
        if may_be_large && std::str::from_utf8(number).is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_infinite))
        {
            self.too_large.get_or_insert(at + 1);
        }
        at + length.saturating_sub(1)
    }
}

/// The UTF-16 unit that four hex digits at `at` stand for.
fn hex_unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = std::str::from_utf8(json.get(at..at + 4)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_escape_is_told_from_an_escaped_backslash() {
        assert_eq!(survey(br#"{"a":"x\u0000y"}"#).nul_escape, Some(8));
        assert_eq!(survey(br#"{"a":"C:\\u0000"}"#), Survey::default());
        assert_eq!(survey(br#"{"a":"C:\\\u0000"}"#).nul_escape, Some(11));
    }

    #[test]
    fn surrogates_are_sound_in_pairs_only() {
        assert_eq!(survey(br#""\ud83d\ude00""#), Survey::default());
        for (lone, place) in [
            (&br#""\ud83d""#[..], 2),
            (br#""\ude00""#, 2),
            (br#""\ud83dx\ude00""#, 2),
            (br#""\ud83d\n""#, 2),
            (br#""\ud83d\ud83d\ude00""#, 2),
            (br#""ok\ud83d\ude00\ude00""#, 16),
        ] {
            assert_eq!(survey(lone).lone_surrogate, Some(place), "{}", String::from_utf8_lossy(lone));
        }
    }

    #[test]
    fn brackets_and_digits_inside_strings_count_for_nothing() {
        let text = format!("{{\"{}1e999\":\"\\\"{}\"}}", "[".repeat(200), "[1e999".repeat(200));
        assert_eq!(survey(text.as_bytes()), Survey::default());
    }

    #[test]
    fn too_large_numbers_are_found_and_small_ones_are_not() {
        assert_eq!(survey(b"[1e200000]").too_large, Some(2));
        assert_eq!(survey(b"[1,-1E+400]").too_large, Some(5));
        assert_eq!(survey(format!("[{}]", "9".repeat(400)).as_bytes()).too_large, Some(2));
        assert_eq!(survey(b"[1e-200000,0e999999,1e308,14541957942]"), Survey::default());
    }

    #[test]
    fn the_survey_of_broken_text_ends() {
        for broken in [&b"\""[..], b"\"\\", b"\"\\u", b"\"\\u12", b"]]]]", b"1e", b"\"\\ud83d"] {
            _ = survey(broken);
        }
    }
}
