//! Points in time on the command line: a time, a day, or how long ago.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::clock::Clock;

/// Reads `2026-01-05T10:00:00Z`, `2026-01-05` (its first moment, UTC) or `2h`: so long ago.
///
/// # Errors
/// What to write instead.
pub fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    moment_before(text, Clock::system().now())
}

fn moment_before(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(NaiveTime::MIN).and_utc());
    }
    let ago = humantime::parse_duration(text).ok().and_then(|ago| TimeDelta::from_std(ago).ok());
    ago.and_then(|ago| now.checked_sub_signed(ago)).ok_or_else(|| {
        "write a time such as 2026-01-05T10:00:00Z, a day such as 2026-01-05 (UTC), or how long ago: 2h, 30min, 7d"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample::morning;

    #[test]
    fn a_point_in_time_is_a_time_a_day_or_a_while_ago() {
        for (text, time) in [
            ("2026-01-05T10:00:00Z", "2026-01-05T10:00:00+00:00"),
            ("2026-01-05T12:00:00+02:00", "2026-01-05T10:00:00+00:00"),
            ("2026-01-05", "2026-01-05T00:00:00+00:00"),
            ("2h", "2026-01-05T08:00:00.250+00:00"),
            ("1day", "2026-01-04T10:00:00.250+00:00"),
        ] {
            assert_eq!(moment_before(text, morning()).unwrap().to_rfc3339(), time);
        }
        for text in ["", "yesterday", "2026-13-01", "10000000000y"] {
            assert!(moment_before(text, morning()).unwrap_err().contains("2h, 30min, 7d"), "{text}");
        }
    }
}
