//! Durations ("10s", "250ms", "1h30m") and sizes ("26MiB"): text to value and back. A bare number is refused: nobody can
//! see whether 300 means seconds or milliseconds.

use std::{fmt::Write as _, time::Duration};

/// Milliseconds of each unit of time, largest first.
const TIME_UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Bytes of each unit of size, largest first.
const SIZE_UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads a duration: whole numbers with d, h, m, s or ms, such as "5m" or "1h30m".
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let mut total_ms: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, unit, after) = next_quantity(rest)?;
        let (_, factor) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
        total_ms = total_ms.checked_add(number.checked_mul(*factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total_ms))
}

/// Reads a size: a whole number with B, KiB, MiB or GiB.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let (number, unit, after) = next_quantity(text)?;
    let (_, factor) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
    if after.is_empty() { number.checked_mul(*factor) } else { None }
}

/// Splits "90s…" into 90, "s" and what follows.
fn next_quantity(text: &str) -> Option<(u64, &str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(letters);
    Some((number.parse().ok()?, unit, after))
}

/// Writes a duration as `parse_duration` reads it.
pub(super) fn show_duration(duration: Duration) -> String {
    let mut left = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if left == 0 {
        return "0s".into();
    }
    let mut text = String::new();
    for (unit, factor) in TIME_UNITS {
        if left >= factor {
            write!(text, "{}{unit}", left / factor).expect("writing to a String does not fail");
            left %= factor;
        }
    }
    text
}

/// Writes a size as `parse_size` reads it.
pub(super) fn show_size(bytes: u64) -> String {
    let unit = SIZE_UNITS.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    let (name, factor) = unit.unwrap_or(&("B", 1));
    format!("{}{name}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_needs_a_unit() {
        for (text, ms) in
            [("250ms", 250), ("10s", 10_000), ("5m", 300_000), ("1h30m", 5_400_000), ("30d", 2_592_000_000)]
        {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for bad in
            ["", "300", "5M", "5 m", "-1s", "1.5s", "s", "5min", "NaN", "1e3s", "99999999999999999999s", "inf", "１s"]
        {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_size_needs_a_binary_unit() {
        for (text, bytes) in [("0B", 0), ("64KiB", 65_536), ("26MiB", 27_262_976), ("1GiB", 1 << 30)] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for bad in ["", "26", "26MB", "26M", "26 MiB", "1.5MiB", "-1B", "1KiB1B", "99999999999999999999GiB"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ms in [0, 1, 999, 1_000, 90_000, 86_400_000, 90_061_001] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
        }
        for bytes in [0, 1, 1_023, 1_024, 27_262_976, 1 << 30] {
            assert_eq!(parse_size(&show_size(bytes)), Some(bytes));
        }
    }
}
