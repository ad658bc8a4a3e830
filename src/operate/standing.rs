//! What a delivery is up to, in a sentence: takes what is known about it and the pauses, says why it waits, or how it ended.
//! Pure.

use chrono::{DateTime, Utc};

use super::{Pausable, Paused, destinations::pause_of};
use crate::{domain::DeliveryState, store::delivery_story::DeliveryStory};

/// What a sentence needs to know beside the delivery.
pub(super) struct Standings<'a> {
    /// All pauses.
    pub(super) pauses: &'a [Paused],
    /// By the database's clock.
    pub(super) now: DateTime<Utc>,
}

impl Standings<'_> {
    /// The sentence. Errors are in the words of a destination: hostile text.
    pub(super) fn of(&self, delivery: &DeliveryStory) -> String {
        let attempts = delivery.attempts.len();
        let error = delivery.last_error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        let ended = |word: &str| {
            let at = delivery.finished_at.map_or(String::new(), |at| format!(" at {}", stamp(at)));
            format!("{word}{at}, after {}", counted(attempts, "attempt"))
        };
        let sentence = match delivery.state {
            DeliveryState::Running => running(delivery),
            DeliveryState::Waiting | DeliveryState::Queued | DeliveryState::Retrying => self.why_it_waits(delivery),
            DeliveryState::Succeeded => ended("succeeded"),
            DeliveryState::Dead => format!("{}{error}. Retry it, or discard it", ended("a dead letter")),
            DeliveryState::Cancelled => format!("{}{error}", ended("called off")),
            DeliveryState::Skipped => ended("not run, since order = \"event\" skips what is stale"),
        };
        match &delivery.stale {
            Some(stale) => format!("{sentence}; {}", stale.why),
            None => sentence,
        }
    }

    /// The one reason that is to be removed first.
    fn why_it_waits(&self, delivery: &DeliveryStory) -> String {
        let retries = delivery.state == DeliveryState::Retrying;
        let tried = match (&delivery.last_error, retries) {
            (Some(error), true) => format!("; the last of {}: {error}", counted(delivery.attempts.len(), "attempt")),
            _ => String::new(),
        };
        if let Some(dead) = delivery.blocked_by {
            return format!(
                "waits: {dead} is dead and blocks the lane. Retry or discard that one, or unblock the lane"
            );
        }
        let paused = pause_of(self.pauses, Pausable::Route, &delivery.route)
            .or_else(|| pause_of(self.pauses, Pausable::Destination, &delivery.destination));
        if let Some(pause) = paused {
            let reason = pause.reason.map_or(String::new(), |reason| format!(" ({reason})"));
            let since = stamp(pause.since);
            return format!(
                "waits: the {} {} is paused by {}{reason} since {since}. Resume it{tried}",
                pause.kind.as_str(),
                pause.name,
                pause.by
            );
        }
        if delivery.ahead > 0 {
            return format!("waits behind {} of its lane{tried}", counted(delivery.ahead, "delivery"));
        }
        if delivery.due_at > self.now {
            let why = if retries { "the next attempt" } else { "held by a reorder window, or a rate limit," };
            return format!("waits: {why} is due at {}{tried}", stamp(delivery.due_at));
        }
        match &delivery.last_error {
            Some(error) => format!("it is its turn: a worker takes it as soon as one is free; {error}"),
            None => "it is its turn: a worker takes it as soon as one is free".to_owned(),
        }
    }
}

fn running(delivery: &DeliveryStory) -> String {
    match delivery.attempts.last() {
        Some(attempt) => {
            format!("running since {}: attempt {} by {}", stamp(attempt.started_at), attempt.number, attempt.worker)
        }
        None => "running".to_owned(),
    }
}

/// `1 attempt`, `2 attempts`, `3 deliveries`.
fn counted(number: impl TryInto<i64>, word: &str) -> String {
    let number = number.try_into().unwrap_or(i64::MAX);
    match (number, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        (_, None) => format!("{number} {word}s"),
    }
}

/// A time in a sentence.
pub(super) fn stamp(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{DeliveryRef, Purpose, ReceiptId},
        store::delivery_story::Staleness,
    };

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn delivery(state: DeliveryState) -> DeliveryStory {
        DeliveryStory {
            id: DeliveryRef::new(),
            route: "deploy".to_owned(),
            destination: "deployer".to_owned(),
            purpose: Purpose::Deliver,
            ordering_key: Some("pull_request/1".to_owned()),
            by_event: true,
            stale: None,
            state,
            trigger: "automatic".to_owned(),
            due_at: at("2026-01-05T10:00:00Z"),
            ahead: 0,
            blocked_by: None,
            crashes: 0,
            last_error: None,
            created_at: at("2026-01-05T10:00:00Z"),
            finished_at: state.is_finished().then(|| at("2026-01-05T10:01:00Z")),
            attempts: Vec::new(),
        }
    }

    fn told(delivery: &DeliveryStory) -> String {
        let pause = Paused {
            kind: Pausable::Destination,
            name: "paused".to_owned(),
            since: at("2026-01-05T09:00:00Z"),
            by: "ann".to_owned(),
            reason: Some("they migrate".to_owned()),
        };
        Standings { pauses: &[pause], now: at("2026-01-05T10:00:30Z") }.of(delivery)
    }

    #[test]
    fn a_delivery_that_waits_says_for_what_and_what_to_do() {
        let waiting = delivery(DeliveryState::Waiting);
        let dead = DeliveryRef::new();
        let blocked = DeliveryStory { blocked_by: Some(dead), ahead: 2, ..waiting.clone() };
        assert!(told(&blocked).starts_with(&format!("waits: {dead} is dead and blocks the lane. Retry")));
        let paused = DeliveryStory { destination: "paused".to_owned(), ahead: 2, ..waiting.clone() };
        assert_eq!(
            told(&paused),
            "waits: the destination paused is paused by ann (they migrate) since 2026-01-05 09:00:00 UTC. Resume it"
        );
        assert_eq!(told(&DeliveryStory { ahead: 2, ..waiting.clone() }), "waits behind 2 deliveries of its lane");
        assert!(told(&waiting).starts_with("it is its turn"));
        let due_at = at("2026-01-05T10:05:00Z");
        let last_error = Some("503".to_owned());
        let retrying = DeliveryStory { due_at, last_error, ..delivery(DeliveryState::Retrying) };
        let sentence = "waits: the next attempt is due at 2026-01-05 10:05:00 UTC; the last of 0 attempts: 503";
        assert_eq!(told(&retrying), sentence);
    }

    #[test]
    fn a_finished_delivery_says_how_it_ended_and_against_what_it_was_stale() {
        let ended = "at 2026-01-05 10:01:00 UTC, after 0 attempts";
        assert_eq!(told(&delivery(DeliveryState::Succeeded)), format!("succeeded {ended}"));
        let dead = DeliveryStory { last_error: Some("404".to_owned()), ..delivery(DeliveryState::Dead) };
        assert_eq!(told(&dead), format!("a dead letter {ended}: 404. Retry it, or discard it"));
        let stale = Staleness { against: ReceiptId::new(), why: "stale: it is older".to_owned() };
        let skipped = DeliveryStory { stale: Some(stale), ..delivery(DeliveryState::Skipped) };
        assert!(told(&skipped).ends_with("; stale: it is older"), "{}", told(&skipped));
    }
}
