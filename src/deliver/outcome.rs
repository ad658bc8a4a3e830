//! The table of outcomes: takes what came of one HTTP request, gives the class that decides what happens next, with a
//! sentence for the operator. Never decides how long to wait.

use std::{ops::RangeInclusive, time::Duration};

use chrono::{DateTime, Utc};

use crate::domain::{Answer, Outcome, OutcomeClass};

/// The longest sentence. Parts of it come from the network.
const REASON_LENGTH_MAX: usize = 500;

/// One row: what a range of statuses means.
struct Row {
    statuses: RangeInclusive<u16>,
    class: OutcomeClass,
    /// What the operator may do about it; may be empty.
    advice: &'static str,
}

const fn row(statuses: RangeInclusive<u16>, class: OutcomeClass, advice: &'static str) -> Row {
    Row { statuses, class, advice }
}

/// What an answer's status means; the first row that fits counts. A destination's `retry_statuses` turn a rejected one
/// into a failed one. What no row covers is no answer that HTTP defines, and so unknown.
///
/// 2xx, 408, 425, 429, 5xx, 410 and other 4xx are as DESIGN.md section 4 says, which follows Standard Webhooks 1.0.0. A
/// redirect is failed rather than rejected: it may be a maintenance page that goes away, and a mistaken address is
/// corrected while the delivery waits; in both cases the retry arrives.
const TABLE: &[Row] = &[
    row(200..=299, OutcomeClass::Succeeded, ""),
    row(300..=399, OutcomeClass::Failed, "redirects are not followed: set the destination's url to the final address"),
    row(401..=401, OutcomeClass::Rejected, "the destination wants other credentials: correct them"),
    row(403..=403, OutcomeClass::Rejected, "the destination forbids it: correct its rules or its secret"),
    row(404..=405, OutcomeClass::Rejected, "nothing takes a POST there: correct the destination's url"),
    row(408..=408, OutcomeClass::Failed, "the destination waited too long for the request"),
    row(410..=410, OutcomeClass::Rejected, "the destination is gone for good: remove the route, or correct the url"),
    row(413..=413, OutcomeClass::Rejected, "the body is too large for the destination: raise its limit"),
    row(425..=425, OutcomeClass::Failed, "the destination wants it later"),
    row(429..=429, OutcomeClass::Failed, "the destination is asked too often"),
    row(400..=499, OutcomeClass::Rejected, "add the status to retry_statuses if trying again helps"),
    row(500..=599, OutcomeClass::Failed, ""),
];

/// How the reading of an answer's body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// All of it was read, or as much as is kept.
    Read,
    /// The connection failed before the end.
    Lost(String),
    /// The time for the whole attempt ran out before the end.
    Late(Duration),
}

/// An answer, and what is told beside its status.
#[derive(Debug)]
pub(super) struct Answered {
    pub answer: Answer,
    /// The status with its usual name, such as `503 Service Unavailable`.
    pub status_text: String,
    /// Where a redirect points, made safe to show.
    pub location: Option<String>,
    pub retry_after: Option<Duration>,
    pub ending: Ending,
}

/// The outcome of a request that was answered.
///
/// An answer of 2xx that breaks off is unknown: the destination said yes, and may have died before it was done. Any other
/// answer that breaks off keeps its class, for the status has already said no.
pub(super) fn of_answer(answered: Answered, retry_statuses: &[u16]) -> Outcome {
    let status = answered.answer.status;
    let row = TABLE.iter().find(|row| row.statuses.contains(&status));
    let mut class = row.map_or(OutcomeClass::Unknown, |row| row.class);
    let mut advice = row.map_or("that is no status that HTTP defines for a final answer", |row| row.advice);
    if class == OutcomeClass::Rejected && retry_statuses.contains(&status) {
        (class, advice) = (OutcomeClass::Failed, "retry_statuses lists it");
    }
    let mut reason = format!("was answered {}", answered.status_text);
    if let Some(location) = &answered.location {
        reason = format!("{reason} to {location}");
    }
    match &answered.ending {
        Ending::Read => {}
        Ending::Lost(cause) => reason = format!("{reason}, and the connection was lost within the answer ({cause})"),
        Ending::Late(limit) => reason = format!("{reason}, and the answer did not end within {limit:?}"),
    }
    if class == OutcomeClass::Succeeded && answered.ending != Ending::Read {
        (class, advice) = (OutcomeClass::Unknown, "whether the destination took it is not known");
    }
    if !advice.is_empty() {
        reason = format!("{reason}; {advice}");
    }
    let retry_after = answered.retry_after.filter(|_| class != OutcomeClass::Succeeded);
    Outcome { class, reason: sentence(&reason), answer: Some(answered.answer), retry_after }
}

/// The outcome of a request that certainly did not reach the destination, or not wholly: refused, no such host, TLS.
pub(super) fn not_sent(what: &str) -> Outcome {
    Outcome { class: OutcomeClass::Failed, reason: sentence(what), answer: None, retry_after: None }
}

/// The outcome of a request that went out and was not answered: a lost answer is unknown, not failed.
pub(super) fn not_answered(what: &str) -> Outcome {
    Outcome { class: OutcomeClass::Unknown, reason: sentence(what), answer: None, retry_after: None }
}

/// Reads `Retry-After`: whole seconds, or an HTTP date (RFC 9110, section 10.2.3). What is neither, or lies in the past,
/// is `None`. Numbers beyond all measure become the longest duration: the retry policy clamps.
pub(super) fn read_retry_after(value: &[u8], now: DateTime<Utc>) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let at: DateTime<Utc> = httpdate::parse_http_date(text).ok()?.into();
    (at - now).to_std().ok()
}

/// One line of bounded length, whatever went into it.
pub(super) fn sentence(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(REASON_LENGTH_MAX).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn answered(status: u16, ending: Ending) -> Answered {
        Answered {
            answer: Answer { status, body: Bytes::new(), is_cut: false },
            status_text: status.to_string(),
            location: None,
            retry_after: Some(Duration::from_secs(5)),
            ending,
        }
    }

    #[test]
    fn each_status_has_its_documented_class() {
        use OutcomeClass::{Failed, Rejected, Succeeded, Unknown};
        for (statuses, class) in [
            (&[200, 201, 202, 204, 299][..], Succeeded),
            (&[300, 301, 302, 303, 304, 307, 308], Failed),
            (&[400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 418, 422, 451, 499], Rejected),
            (&[408, 425, 429], Failed),
            (&[500, 501, 502, 503, 504, 505, 520, 599], Failed),
            (&[100, 101, 103, 199, 600, 999], Unknown),
        ] {
            for status in statuses {
                assert_eq!(of_answer(answered(*status, Ending::Read), &[]).class, class, "{status}");
            }
        }
    }

    #[test]
    fn a_rejected_status_is_tried_again_where_the_destination_says_so() {
        for status in [400, 404, 409, 410, 422] {
            assert_eq!(of_answer(answered(status, Ending::Read), &[status]).class, OutcomeClass::Failed);
        }
        assert_eq!(of_answer(answered(200, Ending::Read), &[200]).class, OutcomeClass::Succeeded);
    }

    #[test]
    fn a_yes_that_breaks_off_is_unknown_and_a_no_stays_a_no() {
        for ending in [Ending::Lost("reset".to_owned()), Ending::Late(Duration::from_secs(30))] {
            assert_eq!(of_answer(answered(200, ending.clone()), &[]).class, OutcomeClass::Unknown);
            assert_eq!(of_answer(answered(503, ending.clone()), &[]).class, OutcomeClass::Failed);
            assert_eq!(of_answer(answered(422, ending), &[]).class, OutcomeClass::Rejected);
        }
    }

    #[test]
    fn a_retry_after_is_read_as_seconds_or_as_a_date() {
        let now = DateTime::from_timestamp(784_111_777, 0).unwrap(); // Sun, 06 Nov 1994 08:49:37 GMT
        let read = |text: &str| read_retry_after(text.as_bytes(), now).map(|wait| wait.as_secs());
        assert_eq!(read("7"), Some(7));
        assert_eq!(read(" 120 "), Some(120));
        assert_eq!(read("0"), Some(0));
        assert_eq!(read("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
        assert_eq!(read("Wed, 09 Nov 1994 08:49:37 GMT"), Some(3 * 24 * 3_600));
        assert_eq!(read("99999999999999999999999"), Some(u64::MAX));
        for none in ["Sun, 06 Nov 1994 08:48:37 GMT", "-5", "1e9", "abc", "", " ", "7.5", "+7", "٧", "0x10"] {
            assert_eq!(read(none), None, "{none:?}");
        }
        assert_eq!(read_retry_after(&[0xff, 0xfe], now), None);
    }

    #[test]
    fn a_reason_is_one_short_line_whatever_the_network_says() {
        let outcome = not_answered(&format!("lost: \u{1b}[2J\n{}", "x".repeat(9_000)));
        assert!(outcome.reason.len() <= REASON_LENGTH_MAX && !outcome.reason.contains(['\n', '\u{1b}']));
    }
}
