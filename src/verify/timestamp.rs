//! Signed timestamps. Takes text, a tolerance and the time; gives a time that is near enough; never reads a clock.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::VerifyError;

/// Reads Unix seconds: ASCII digits without sign, space or leading zero, so that each second has one spelling and what
/// is signed is what is compared.
pub(super) fn unix_seconds(text: &[u8]) -> Option<i64> {
    let canonical = text.iter().all(u8::is_ascii_digit) && (text.len() == 1 || !text.starts_with(b"0"));
    std::str::from_utf8(text).ok().filter(|_| canonical)?.parse().ok()
}

/// Refuses a timestamp that is more than `tolerance` before or after `now`. Both are taken in whole seconds, as signed
/// timestamps have no finer unit.
pub(super) fn check_fresh(seconds: i64, tolerance: Duration, now: DateTime<Utc>) -> Result<DateTime<Utc>, VerifyError> {
    let allowed_seconds = tolerance.as_secs();
    let off_seconds = seconds.abs_diff(now.timestamp());
    if off_seconds > allowed_seconds && seconds < now.timestamp() {
        return Err(VerifyError::TooOld { off_seconds, allowed_seconds });
    }
    // A time that the calendar cannot hold is far ahead by any tolerance.
    match DateTime::from_timestamp(seconds, 0) {
        Some(signed_at) if off_seconds <= allowed_seconds => Ok(signed_at),
        _ => Err(VerifyError::TooFarAhead { off_seconds, allowed_seconds }),
    }
}
