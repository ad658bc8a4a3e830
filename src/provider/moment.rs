//! Event times: takes a text or a number as providers write times, gives a moment to the microsecond; never guesses a
//! zone other than UTC.

use chrono::{DateTime, NaiveDateTime, Utc};

/// The last second of the year 9999. Later numbers are milliseconds or noise, and no seconds.
const SECONDS_MAX: i64 = 253_402_300_799;

/// What a field for a time says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A moment.
    At(DateTime<Utc>),
    /// "Never": GitHub writes `0001-01-01T00:00:00Z` where there is no time. Any time before 1970 counts as this.
    Never,
    /// No time at all.
    Unreadable,
}

/// Reads RFC 3339 with any offset and fraction, or `2019-04-19 19:36:24`, which is taken as UTC.
pub(super) fn from_text(text: &str) -> Moment {
    let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.to_utc());
    let time =
        zoned.or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").map(|time| time.and_utc()));
    // PostgreSQL keeps microseconds: what is stored must equal what was read.
    match time.ok().and_then(|time| DateTime::from_timestamp_micros(time.timestamp_micros())) {
        Some(time) if time.timestamp() > SECONDS_MAX => Moment::Unreadable,
        Some(time) if time.timestamp() < 0 => Moment::Never,
        Some(time) => Moment::At(time),
        None => Moment::Unreadable,
    }
}

/// Reads seconds since 1970 in decimal digits.
pub(super) fn from_digits(digits: &str) -> Moment {
    match digits.parse::<i64>() {
        Ok(seconds @ 1..=SECONDS_MAX) => DateTime::from_timestamp_secs(seconds).map_or(Moment::Unreadable, Moment::At),
        Ok(0) => Moment::Never,
        _ => Moment::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match from_text(text) {
            Moment::At(time) => time.to_rfc3339(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_spelling_in_the_examples_of_github_is_read() {
        assert_eq!(read("2019-05-15T15:20:18Z"), "2019-05-15T15:20:18+00:00");
        assert_eq!(read("2024-03-07T18:27:56.000Z"), "2024-03-07T18:27:56+00:00");
        assert_eq!(read("2021-03-17T18:35:38.999-04:00"), "2021-03-17T22:35:38.999+00:00");
        assert_eq!(read("2017-10-25T00:00:00+00:00"), "2017-10-25T00:00:00+00:00");
        assert_eq!(read("2019-04-19 19:36:24"), "2019-04-19T19:36:24+00:00");
        assert_eq!(from_digits("1557933657"), Moment::At(DateTime::from_timestamp_secs(1_557_933_657).unwrap()));
    }

    #[test]
    fn a_time_is_cut_to_the_microsecond_as_the_database_keeps_it() {
        assert_eq!(read("2024-01-01T00:00:00.123456789Z"), "2024-01-01T00:00:00.123456+00:00");
    }

    #[test]
    fn the_year_one_is_no_time_and_milliseconds_are_no_seconds() {
        assert_eq!(from_text("0001-01-01T00:00:00Z"), Moment::Never);
        assert_eq!(from_digits("0"), Moment::Never);
        for bad in ["1700000000000", "-1", "99999999999999999999", ""] {
            assert_eq!(from_digits(bad), Moment::Unreadable, "{bad}");
        }
        for bad in ["", "soon", "2024-13-01T00:00:00Z", "2024-01-01", "2024-01-01T00:00:00"] {
            assert_eq!(from_text(bad), Moment::Unreadable, "{bad}");
        }
    }
}
