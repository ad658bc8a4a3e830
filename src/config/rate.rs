//! `rate_limit` of [destinations.NAME]: "50/s", turned round into the time between two attempts.

use std::time::Duration;

use super::reader::Reader;

/// Seconds of each unit.
const UNITS: [(&str, u64); 3] = [("s", 1), ("m", 60), ("h", 3_600)];

/// More than that a second is no limit: a claim in the database takes about as long.
const PER_SECOND_MAX: u64 = 10_000;

/// The shortest time between two attempts; `None`: no limit is written.
pub(super) fn pace(table: &Reader<'_>) -> Option<Duration> {
    let text = table.text("rate_limit", "50/s")?;
    let pace = parse(text);
    if pace.is_none() {
        let problem = format!("is {text:?}, which is no rate");
        let instead = format!(
            "write how many attempts may begin in a second, a minute or an hour, from \"1/h\" to \
             \"{PER_SECOND_MAX}/s\", such as \"50/s\""
        );
        table.mistake("rate_limit", problem, instead);
    }
    pace
}

/// "50/s" as the time between two of them; `None`: it is no rate.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_once('/')?;
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok().filter(|number| (1..=PER_SECOND_MAX * seconds).contains(number))?;
    // Rounded up, so that there are never more than was asked for.
    Some(Duration::from_nanos((seconds * 1_000_000_000).div_ceil(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_for_each_second_minute_or_hour() {
        for (text, nanos) in [
            ("50/s", 20_000_000),
            ("10000/s", 100_000),
            ("600000/m", 100_000),
            ("90/m", 666_666_667),
            ("1/h", 3_600_000_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        for bad in [
            "",
            "50",
            "/s",
            "50/",
            "0/s",
            "-1/s",
            "+1/s",
            "1.5/s",
            "50/S",
            "50 / s",
            "50/sec",
            "50/d",
            "10001/s",
            "600001/m",
            "99999999999999999999/h",
            "1/s/s",
            "５/s",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
