//! Small parts that many pages show: times, states, counts, sizes. Each escapes what it shows.

use askama::{Template, filters::HtmlSafe};
use chrono::{DateTime, Utc};

use super::fields::iso;
use crate::{
    cli::visible::{Visible, cut},
    domain::DeliveryState,
};

/// Letters of a text from outside that are shown in one place: the rest is on the page of the thing itself.
const LETTERS_MAX: usize = 500;

/// A moment. It is sent as UTC with the word; the script shows the viewer's own zone, and UTC stays in the title.
#[derive(Template, Debug, Clone)]
#[template(
    ext = "html",
    source = r#"<time datetime="{{ iso }}" title="{{ exact }} UTC (epoch {{ epoch }})">{{ shown }} UTC</time>"#
)]
pub(super) struct Moment {
    iso: String,
    exact: String,
    shown: String,
    epoch: i64,
}

impl HtmlSafe for Moment {}

impl Moment {
    pub(super) fn of(at: DateTime<Utc>) -> Self {
        Self {
            iso: iso(at),
            exact: at.format("%Y-%m-%d %H:%M:%S%.3f").to_string(),
            shown: at.format("%Y-%m-%d %H:%M:%S").to_string(),
            epoch: at.timestamp(),
        }
    }

    /// To the millisecond, where the order of things matters.
    pub(super) fn exact(at: DateTime<Utc>) -> Self {
        let moment = Self::of(at);
        Self { shown: moment.exact.clone(), ..moment }
    }
}

/// Where a delivery stands, as a word with a colour.
#[derive(Template, Debug, Clone, Copy)]
#[template(ext = "html", source = r#"<span class="badge {{ tone }}">{{ word }}</span>"#)]
pub(super) struct Badge {
    pub(super) tone: &'static str,
    pub(super) word: &'static str,
}

impl HtmlSafe for Badge {}

impl Badge {
    pub(super) fn of(state: DeliveryState) -> Self {
        let tone = match state {
            DeliveryState::Succeeded => "good",
            DeliveryState::Dead => "bad",
            DeliveryState::Retrying => "warn",
            DeliveryState::Running | DeliveryState::Queued | DeliveryState::Waiting => "busy",
            DeliveryState::Skipped | DeliveryState::Cancelled => "idle",
        };
        Self { tone, word: state.as_str() }
    }

    /// Whether there is nothing wrong.
    pub(super) fn is_good(self) -> bool {
        self.tone == "good"
    }

    /// How an attempt ended.
    pub(super) fn outcome(outcome: Option<&str>) -> Self {
        match outcome {
            None => Self { tone: "busy", word: "under way" },
            Some("succeeded") => Self { tone: "good", word: "succeeded" },
            Some("failed") => Self { tone: "warn", word: "failed" },
            Some("rejected") => Self { tone: "bad", word: "rejected" },
            Some("unknown") => Self { tone: "warn", word: "unknown" },
            Some(_) => Self { tone: "idle", word: "other" },
        }
    }
}

/// Text from outside, for one line: what cannot be seen or turns the order of letters around is written out, and what is
/// long is cut.
pub(super) fn line(text: &str) -> String {
    cut(&Visible(text).to_string(), LETTERS_MAX)
}

/// A name as one part of a path.
pub(super) fn part(name: &str) -> String {
    url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}

/// `1 delivery`, `37 deliveries`.
pub(super) fn count(number: i64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(number)) }
}

/// A count that stops counting: `10,000 or more`.
pub(super) fn counted(number: i64, most: i64) -> String {
    if number >= most { format!("{} or more", grouped(most)) } else { grouped(number) }
}

/// `1,234,567`.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `512 bytes`, `12.3 KiB`, `4.0 MiB`.
pub(super) fn size(bytes: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size for people, with one decimal")]
    let amount = bytes as f64;
    match bytes {
        ..1024 => count(bytes, "byte", "bytes"),
        1024..1_048_576 => format!("{:.1} KiB", amount / 1024.0),
        _ => format!("{:.1} MiB", amount / 1_048_576.0),
    }
}

/// `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`.
pub(super) fn took(milliseconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "a length of time is far from the bounds of i64")]
    let seconds = (milliseconds / 1_000.0).round() as i64;
    match milliseconds {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms if ms < 60_000.0 => format!("{:.1} s", ms / 1_000.0),
        _ if seconds < 3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if seconds < 86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// How long from one moment to another.
pub(super) fn between(from: DateTime<Utc>, to: DateTime<Utc>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
    let milliseconds = (to - from).num_milliseconds().max(0) as f64;
    took(milliseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!((grouped(0), grouped(999), grouped(1_000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!(grouped(-1_234_567), "-1,234,567");
        assert_eq!(
            (count(1, "delivery", "deliveries"), counted(10_000, 10_000)),
            ("1 delivery".into(), "10,000 or more".into())
        );
        assert_eq!((size(1), size(1_536), size(26_214_400)), ("1 byte".into(), "1.5 KiB".into(), "25.0 MiB".into()));
        let lengths = [1.24, 250.0, 3_400.0, 125_000.0, 12_000_000.0, 187_200_000.0].map(took);
        assert_eq!(lengths, ["1.2 ms", "250 ms", "3.4 s", "2 min 5 s", "3 h 20 min", "2 d 4 h"]);
    }

    #[test]
    fn a_moment_says_utc_and_keeps_the_epoch_for_the_title() {
        let at = DateTime::from_timestamp_millis(1_767_607_200_250).unwrap();
        assert_eq!(
            Moment::of(at).to_string(),
            "<time datetime=\"2026-01-05T10:00:00.250Z\" title=\"2026-01-05 10:00:00.250 UTC (epoch 1767607200)\">2026-01-05 10:00:00 UTC</time>"
        );
    }

    #[test]
    fn hidden_letters_are_written_out_and_long_lines_are_cut() {
        assert_eq!(line("a\u{202e}b\nc"), "a\\u{202e}b\\nc");
        assert_eq!(line(&"x".repeat(1_000)).chars().count(), LETTERS_MAX + 1);
    }
}
