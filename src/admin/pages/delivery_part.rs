//! One delivery as part of a page: where it stands, what can be done about it, and each attempt with its request and its
//! answer.

use super::{
    payload::lines,
    pieces::{Badge, Moment, line, took},
};
use crate::{
    config::DestinationKind,
    domain::{DeliveryState, Purpose},
    operate::{Desk, RETRIED_FROM},
    store::{
        delivery_story::{AttemptFacts, DeliveryStory},
        receipt_story::ReceiptFacts,
    },
};

/// Attempts that a page shows: the last ones.
const ATTEMPTS_MAX: usize = 50;

/// A delivery.
pub(super) struct DeliveryPart {
    pub(super) id: String,
    pub(super) route: String,
    pub(super) destination: String,
    pub(super) is_compensation: bool,
    pub(super) state: Badge,
    pub(super) ordering_key: Option<String>,
    pub(super) order: &'static str,
    pub(super) lane: String,
    pub(super) due: Option<Moment>,
    pub(super) blocked_by: Option<String>,
    /// Where the lane that waits for it can be let go on.
    pub(super) unblock: Option<String>,
    pub(super) stale: Option<(String, String)>,
    pub(super) crashes: i32,
    pub(super) planned: Moment,
    pub(super) finished: Option<Moment>,
    pub(super) may_retry: bool,
    pub(super) may_cancel: bool,
    pub(super) may_discard: bool,
    pub(super) may_replay: bool,
    pub(super) attempts: Vec<AttemptPart>,
    pub(super) left_out: usize,
}

/// One attempt.
pub(super) struct AttemptPart {
    pub(super) id: String,
    pub(super) number: i32,
    pub(super) outcome: Badge,
    pub(super) trigger: String,
    pub(super) worker: String,
    pub(super) started: Moment,
    pub(super) took: String,
    pub(super) reason: String,
    pub(super) request: String,
    pub(super) status: Option<i32>,
    pub(super) answer: Option<String>,
    /// Whether it is shown unfolded: the last one.
    pub(super) is_last: bool,
}

impl DeliveryPart {
    /// Of what is known.
    pub(super) fn of(desk: &Desk, facts: &ReceiptFacts, delivery: &DeliveryStory) -> Self {
        let left_out = delivery.attempts.len().saturating_sub(ATTEMPTS_MAX);
        let shown = &delivery.attempts[left_out..];
        let lane = super::fields::Fields::default()
            .with("route", &delivery.route)
            .with("ordering_key", delivery.ordering_key.clone().unwrap_or_default());
        Self {
            id: delivery.id.to_string(),
            route: delivery.route.clone(),
            destination: delivery.destination.clone(),
            is_compensation: delivery.purpose == Purpose::Compensate,
            state: Badge::of(delivery.state),
            ordering_key: delivery.ordering_key.as_deref().map(line),
            order: if delivery.by_event { "by the provider’s event time" } else { "by arrival" },
            lane: lane.link("/lanes"),
            unblock: (delivery.blocked_by == Some(delivery.id)).then(|| lane.link("/lanes/unblock")),
            due: (!delivery.state.is_finished()).then(|| Moment::exact(delivery.due_at)),
            blocked_by: delivery.blocked_by.filter(|dead| *dead != delivery.id).map(|dead| dead.to_string()),
            stale: delivery.stale.as_ref().map(|stale| (line(&stale.why), stale.against.to_string())),
            crashes: delivery.crashes,
            planned: Moment::exact(delivery.created_at),
            finished: delivery.finished_at.map(Moment::exact),
            may_retry: RETRIED_FROM.contains(&delivery.state),
            may_cancel: delivery.state.may_become(DeliveryState::Cancelled),
            may_discard: delivery.state == DeliveryState::Dead,
            may_replay: delivery.state.is_finished() && !RETRIED_FROM.contains(&delivery.state),
            attempts: shown
                .iter()
                .enumerate()
                .map(|(at, attempt)| AttemptPart {
                    is_last: at + 1 == shown.len(),
                    ..AttemptPart::of(desk, facts, delivery, attempt)
                })
                .collect(),
            left_out,
        }
    }
}

impl AttemptPart {
    fn of(desk: &Desk, facts: &ReceiptFacts, delivery: &DeliveryStory, attempt: &AttemptFacts) -> Self {
        Self {
            id: attempt.id.to_string(),
            number: attempt.number,
            outcome: Badge::outcome(attempt.outcome.as_deref()),
            trigger: line(&attempt.trigger),
            worker: line(&attempt.worker),
            started: Moment::exact(attempt.started_at),
            took: attempt.duration_ms.map(|long| took(f64::from(long))).unwrap_or_default(),
            reason: attempt.reason.as_deref().map(line).unwrap_or_default(),
            request: request(desk, facts, delivery, attempt),
            status: attempt.answer_status,
            answer: attempt
                .answer_beginning
                .as_deref()
                .filter(|answer| !answer.is_empty())
                .map(|answer| lines(answer.as_bytes())),
            is_last: false,
        }
    }
}

/// What was sent. Nobody keeps it with the attempt, since it follows from the receipt; the place is that of today's
/// configuration.
fn request(desk: &Desk, facts: &ReceiptFacts, delivery: &DeliveryStory, attempt: &AttemptFacts) -> String {
    let live = desk.live.load_full();
    let known = live.config.destinations.values().find(|known| known.name.as_str() == delivery.destination);
    let Some(known) = known else {
        return format!("to {}, which the configuration has no more", delivery.destination);
    };
    let DestinationKind::Http(http) = &known.kind else {
        return format!("to {}\nkey: {}\nthe payload below, byte for byte", delivery.destination, delivery.id);
    };
    let mut place = http.url.clone();
    // What stands there may be a password or a token.
    let _ = place.set_username("");
    let _ = place.set_password(None);
    if place.query().is_some() {
        place.set_query(Some("…"));
    }
    let key = delivery
        .ordering_key
        .as_deref()
        .map(|key| format!("Oncehook-Ordering-Key: {}\n", line(key)))
        .unwrap_or_default();
    let stale = if delivery.stale.is_some() { "Oncehook-Stale: true\n" } else { "" };
    format!(
        "POST {place}\nIdempotency-Key: {}\nOncehook-Receipt: {}\nOncehook-Source: {}\nOncehook-Event: {}\n\
         Oncehook-Delivery-Id: {}\nOncehook-Attempt: {}\n{key}{stale}\nthe payload below, byte for byte",
        delivery.id,
        facts.id,
        facts.source,
        line(&facts.event_type),
        line(&facts.delivery_id),
        attempt.number,
    )
}
