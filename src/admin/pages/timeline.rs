//! One line of time for a receipt: from the event itself, over each request for it, to the last attempt.

use chrono::{DateTime, TimeDelta, Utc};

use super::pieces::{Moment, between, line};
use crate::{
    domain::DeliveryState,
    store::{delivery_story::DeliveryStory, receipt_story::ReceiptStory},
};

/// Entries on a page: a delivery that was tried a thousand times is told by its last ones.
const ENTRIES_MAX: usize = 200;

/// One thing that happened.
pub(super) struct Entry {
    pub(super) at: Moment,
    pub(super) tone: &'static str,
    pub(super) what: String,
    /// How long after the receipt's last byte.
    pub(super) after: Option<String>,
    time: DateTime<Utc>,
}

/// What happened, in order.
pub(super) fn timeline(story: &ReceiptStory) -> Vec<Entry> {
    let facts = &story.facts;
    let mut entries = Vec::new();
    let mut add = |time: DateTime<Utc>, tone, what: String| {
        let after = (time > facts.received_at).then(|| format!("+{}", between(facts.received_at, time)));
        entries.push(Entry { at: Moment::exact(time), tone, what, after, time });
    };
    if let Some(time) = facts.event_time {
        let path = facts.event_time_path.as_deref().map(|path| format!(", as {} says", line(path))).unwrap_or_default();
        add(time, "idle", format!("It happened at the provider{path}."));
    }
    if let Some(time) = facts.signed_at {
        add(time, "idle", "The provider signed the request.".to_owned());
    }
    let from = facts.remote_address.as_deref().map(|from| format!(" from {}", line(from))).unwrap_or_default();
    add(facts.received_at, "good", format!("Received{from}: its last byte was read."));
    add(facts.recorded_at, "good", "Recorded. The answer went out after this commit.".to_owned());
    for arrival in &story.later_arrivals {
        let repeats = if arrival.repeats > 0 {
            format!(", and {} more that were only counted", arrival.repeats)
        } else {
            String::new()
        };
        let from = arrival.remote_address.as_deref().map(|from| format!(" from {}", line(from))).unwrap_or_default();
        let tone = if arrival.kind == "conflict" { "warn" } else { "idle" };
        add(arrival.arrived_at, tone, format!("Came again{from}: {}{repeats}.", line(&arrival.kind)));
    }
    for delivery in &story.deliveries {
        of_delivery(delivery, &mut add);
    }
    entries.sort_by_key(|entry| entry.time);
    if let Some(surplus) = entries.len().checked_sub(ENTRIES_MAX) {
        // The first ones say how it came in, the last ones how it ended.
        entries.drain(ENTRIES_MAX / 2..ENTRIES_MAX / 2 + surplus);
    }
    entries
}

fn of_delivery(delivery: &DeliveryStory, add: &mut impl FnMut(DateTime<Utc>, &'static str, String)) {
    let to = format!("{} → {}", delivery.route, delivery.destination);
    add(delivery.created_at, "idle", format!("{to}: planned."));
    for attempt in &delivery.attempts {
        let trigger =
            if attempt.trigger == "automatic" { String::new() } else { format!(" ({})", line(&attempt.trigger)) };
        add(attempt.started_at, "busy", format!("{to}: attempt {}{trigger} began.", attempt.number));
        let (Some(outcome), Some(long)) = (&attempt.outcome, attempt.duration_ms) else { continue };
        let tone = match outcome.as_str() {
            "succeeded" => "good",
            "rejected" => "bad",
            _ => "warn",
        };
        let reason = attempt.reason.as_deref().map(|reason| format!(": {}", line(reason))).unwrap_or_default();
        let end = attempt.started_at + TimeDelta::milliseconds(i64::from(long));
        add(end, tone, format!("{to}: attempt {} {}{reason}", attempt.number, line(outcome)));
    }
    match (delivery.finished_at, delivery.state) {
        (Some(at), DeliveryState::Dead) => add(at, "bad", format!("{to}: a dead letter.")),
        (Some(at), DeliveryState::Cancelled) => add(at, "idle", format!("{to}: called off.")),
        (Some(at), DeliveryState::Skipped) => add(at, "idle", format!("{to}: skipped.")),
        (None, DeliveryState::Retrying) => add(delivery.due_at, "busy", format!("{to}: the next attempt may begin.")),
        _ => {}
    }
}
