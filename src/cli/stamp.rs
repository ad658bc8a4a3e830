//! Times and lengths of time for people. Always UTC, since providers, servers and operators sit in different places.

use chrono::{DateTime, Utc};

/// `2026-01-05 10:00:00.123`, in UTC.
#[must_use]
pub fn stamp(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// `2026-01-05 10:00:00`, in UTC.
#[must_use]
pub fn short_stamp(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// `12 ms`, `3.4 s`.
#[must_use]
pub fn took(milliseconds: i32) -> String {
    if milliseconds < 1_000 {
        format!("{milliseconds} ms")
    } else {
        format!("{:.1} s", f64::from(milliseconds) / 1_000.0)
    }
}
