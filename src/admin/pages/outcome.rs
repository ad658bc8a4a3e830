//! What became of a delivery and what to do now, in sentences for a page. Takes facts, gives text; the same facts say the
//! same on the command line (`cli::verdict`), with its own commands in the place of buttons.

use super::pieces::{count, line};
use crate::{
    domain::DeliveryState,
    store::{delivery_story::DeliveryStory, receipt_story::ReceiptStory},
};

/// What happened, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) tone: &'static str,
    pub(super) what: String,
    pub(super) what_to_do: String,
}

/// For a whole receipt: one outcome, or one a delivery where they differ.
pub(super) fn outcomes(story: &ReceiptStory, is_held: bool) -> Vec<Outcome> {
    let mut outcomes = match story.deliveries.as_slice() {
        [] if is_held => vec![held()],
        [] => vec![no_route(story)],
        many if many.len() > 1 && many.iter().all(|delivery| delivery.state == DeliveryState::Succeeded) => {
            vec![Outcome {
                tone: "good",
                what: format!("All {} deliveries succeeded.", many.len()),
                what_to_do: "Nothing. To run one again all the same, replay it.".to_owned(),
            }]
        }
        many => many.iter().map(of_delivery).collect(),
    };
    if !story.conflicts.is_empty() {
        let number = i64::try_from(story.conflicts.len()).unwrap_or(i64::MAX);
        outcomes.push(Outcome {
            tone: "warn",
            what: format!("{} under the same delivery id.", count(number, "other payload came", "other payloads came")),
            what_to_do: "It is kept beside the first and was not run. Compare the two below; promote it if it should be run too."
                .to_owned(),
        });
    }
    outcomes
}

fn held() -> Outcome {
    Outcome {
        tone: "warn",
        what: "Held: its bytes came before under another delivery id.".to_owned(),
        what_to_do:
            "Nothing was delivered. If the provider really meant it to run again, release it; a captured request that \
                     somebody sent again should stay held."
                .to_owned(),
    }
}

fn no_route(story: &ReceiptStory) -> Outcome {
    Outcome {
        tone: "idle",
        what: "Stored, and no route asked for it: nothing was delivered.".to_owned(),
        what_to_do: format!(
            "If something should be: add a [[routes]] entry with source = \"{}\" and events = [\"{}\"], reload, then replay it here.",
            story.facts.source,
            line(&story.facts.event_type)
        ),
    }
}

/// For one delivery.
pub(super) fn of_delivery(delivery: &DeliveryStory) -> Outcome {
    let (tone, happened, what_to_do) = told(delivery);
    let (route, destination) = (&delivery.route, &delivery.destination);
    Outcome { tone, what: format!("{route} → {destination}: {happened}"), what_to_do }
}

fn told(delivery: &DeliveryStory) -> (&'static str, String, String) {
    let number = delivery.attempts.last().map_or(1, |attempt| attempt.number);
    let attempts = count(i64::try_from(delivery.attempts.len()).unwrap_or(i64::MAX), "attempt", "attempts");
    let why = delivery.last_error.as_deref().map(|why| format!(": {}", line(why))).unwrap_or_default();
    let nothing = "Nothing.".to_owned();
    match delivery.state {
        DeliveryState::Waiting | DeliveryState::Queued if delivery.blocked_by.is_some() => (
            "warn",
            format!("waits, since a dead delivery blocks its lane, {}.", key(delivery)),
            "Retry that dead delivery, or let the lane go on without it.".to_owned(),
        ),
        DeliveryState::Waiting => (
            "busy",
            format!("waits for {} in its lane, {}.", count(delivery.ahead, "older delivery", "older deliveries"), key(delivery)),
            "Nothing: it runs after them. If this lasts, look at the head of its lane.".to_owned(),
        ),
        DeliveryState::Queued => (
            "busy",
            "is next in line.".to_owned(),
            "Nothing. If this lasts, see that a worker runs (oncehook serve or oncehook work) and that nothing is paused.".to_owned(),
        ),
        DeliveryState::Running => ("busy", format!("runs now: attempt {number}."), nothing),
        DeliveryState::Retrying => (
            "warn",
            format!("failed on attempt {number}{why}"),
            "It is tried again by itself. If the destination's error is not going to pass, cancel it.".to_owned(),
        ),
        DeliveryState::Succeeded => match &delivery.stale {
            Some(stale) => ("good", format!("succeeded on attempt {number}, delivered {}", line(&stale.why)), nothing),
            None => ("good", format!("succeeded on attempt {number}."), nothing),
        },
        DeliveryState::Dead => (
            "bad",
            format!("is a dead letter after {attempts}{why}"),
            if delivery.blocked_by == Some(delivery.id) {
                "Its lane waits for it. Mend the cause and retry it, or let the lane go on without it.".to_owned()
            } else {
                "It is kept, and not tried again by itself. Mend the cause and retry it, or discard it with a reason.".to_owned()
            },
        ),
        DeliveryState::Skipped => (
            "idle",
            match &delivery.stale {
                Some(stale) => format!("was skipped: {}", line(&stale.why)),
                None => "was skipped: its lane had already applied something newer.".to_owned(),
            },
            "Nothing: the newer one was delivered. To run it all the same, replay it.".to_owned(),
        ),
        DeliveryState::Cancelled => (
            "idle",
            "was called off by an operator.".to_owned(),
            "Nothing. To run it after all, retry it. The audit log says who called it off, and why.".to_owned(),
        ),
    }
}

fn key(delivery: &DeliveryStory) -> String {
    line(delivery.ordering_key.as_deref().unwrap_or("-"))
}
