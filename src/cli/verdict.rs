//! Takes the story of a receipt and gives plain English sentences: what happened, and what to do now. Pure.

use super::{output::count, stamp::stamp, visible::Visible};
use crate::{
    domain::DeliveryState,
    store::{delivery_story::DeliveryStory, receipt_story::ReceiptStory},
};

/// One or more sentences, the most important first. Safe for a terminal.
#[must_use]
pub fn verdict(story: &ReceiptStory) -> Vec<String> {
    let mut sentences = match story.deliveries.as_slice() {
        [] => vec![no_route(story)],
        [only] => vec![format!("The delivery to {} {}", only.destination, what_happened(only))],
        many if many.iter().all(|delivery| delivery.state == DeliveryState::Succeeded) => {
            vec![format!("All {} deliveries succeeded.", many.len())]
        }
        many => many.iter().map(one_of_many).collect(),
    };
    if !story.conflicts.is_empty() {
        sentences.push(conflicts(story));
    }
    sentences
}

fn one_of_many(delivery: &DeliveryStory) -> String {
    format!("{}: the delivery to {} {}", delivery.route, delivery.destination, what_happened(delivery))
}

fn no_route(story: &ReceiptStory) -> String {
    let receipt = story.facts.id;
    if let Some(since) = story.facts.held_since {
        return format!(
            "It is held as a suspected replay since {} UTC, and nothing was delivered: \"oncehook release {receipt}\" lets it go on its way.",
            stamp(since)
        );
    }
    format!(
        "It is stored, and no route asked for it: nothing was delivered. If something should be, add a [[routes]] entry with \
         source = \"{}\" and events = [\"{}\"], then run it again: \"oncehook receipts replay {receipt}\".",
        story.facts.source,
        Visible(&story.facts.event_type)
    )
}

fn conflicts(story: &ReceiptStory) -> String {
    let number = count(story.conflicts.len(), "other payload", "other payloads");
    format!("{number} came under the same delivery id: kept beside the first, and not run.")
}

fn what_happened(delivery: &DeliveryStory) -> String {
    let attempts = delivery.attempts.len();
    let last = delivery.attempts.last();
    let number = last.map_or(1, |attempt| attempt.number);
    let why =
        delivery.last_error.as_deref().map(|why| format!(": {}", sentence(why))).unwrap_or_else(|| ".".to_owned());
    match delivery.state {
        DeliveryState::Waiting | DeliveryState::Queued if delivery.blocked_by.is_some() => blocked(delivery),
        DeliveryState::Waiting => format!(
            "waits for {} in its lane, {}, and runs after that.",
            count(usize::try_from(delivery.ahead).unwrap_or(0), "older delivery", "older deliveries"),
            Visible(delivery.ordering_key.as_deref().unwrap_or("-")),
        ),
        DeliveryState::Queued => {
            "is next in line. If this lasts, look whether it is paused (\"oncehook pauses\"), and whether a \
                                  worker runs: \"oncehook serve\" or \"oncehook work\"."
                .to_owned()
        }
        DeliveryState::Running => match last {
            Some(open) => format!(
                "runs now: attempt {number}, since {} UTC, by {}.",
                stamp(open.started_at),
                Visible(&open.worker)
            ),
            None => "runs now.".to_owned(),
        },
        DeliveryState::Retrying => {
            format!("failed on attempt {number} and is tried again by itself at {} UTC{why}", stamp(delivery.due_at))
        }
        DeliveryState::Succeeded => match &delivery.stale {
            Some(stale) => format!("succeeded on attempt {number}, delivered {}", sentence(&stale.why)),
            None => format!("succeeded on attempt {number}."),
        },
        DeliveryState::Dead => format!(
            "is a dead letter after {}{why} It is kept, and not tried again by itself{}.",
            count(attempts, "attempt", "attempts"),
            way_out(delivery)
        ),
        DeliveryState::Skipped => match &delivery.stale {
            Some(stale) => format!("was skipped: {}", sentence(&stale.why)),
            None => "was skipped: its lane had already applied something newer.".to_owned(),
        },
        DeliveryState::Cancelled => "was called off by an operator.".to_owned(),
    }
}

/// A redelivery of the provider revives it too; a compensation has nothing that could come again.
fn way_out(delivery: &DeliveryStory) -> String {
    let holds = if delivery.blocked_by == Some(delivery.id) { ", and its lane waits for it" } else { "" };
    format!("{holds}: \"oncehook deliveries retry {}\" does", delivery.id)
}

fn blocked(delivery: &DeliveryStory) -> String {
    let dead = delivery.blocked_by.map(|dead| dead.to_string()).unwrap_or_default();
    format!(
        "waits, since the dead delivery {dead} holds its lane, {}: ask for that one again (\"oncehook deliveries retry {dead}\"), \
         or let the lane go on without it (\"oncehook lanes unblock {} KEY\").",
        Visible(delivery.ordering_key.as_deref().unwrap_or("-")),
        delivery.route,
    )
}

/// A reason, safe for a terminal, with a full stop.
fn sentence(reason: &str) -> String {
    let shown = Visible(super::visible::cut(reason.trim_end(), 300).as_str()).to_string();
    if shown.ends_with(['.', '!', '?', '…']) { shown } else { shown + "." }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    fn verdict_on(change: impl FnOnce(&mut ReceiptStory)) -> String {
        let mut story = sample::story();
        change(&mut story);
        verdict(&story).join("\n")
    }

    #[test]
    fn a_delivery_that_succeeded_says_on_which_attempt() {
        insta::assert_snapshot!(verdict_on(|_| ()), @"The delivery to deployer succeeded on attempt 2.");
    }

    #[test]
    fn a_dead_letter_says_why() {
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries[0].state = DeliveryState::Dead;
            story.deliveries[0].last_error = Some("answered 404 Not Found\u{1b}[2J".to_owned());
        }), @r#"The delivery to deployer is a dead letter after 2 attempts: answered 404 Not Found\u{1b}[2J. It is kept, and not tried again by itself: "oncehook deliveries retry dlv_01ke6vafet00000000000000d1" does."#);
    }

    #[test]
    fn a_delivery_that_has_not_ended_says_what_it_waits_for() {
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries[0].state = DeliveryState::Retrying;
            story.deliveries[0].last_error = Some("no connection to 127.0.0.1:9000.".to_owned());
        }), @"The delivery to deployer failed on attempt 2 and is tried again by itself at 2026-01-05 10:00:05.250 UTC: no connection to 127.0.0.1:9000.");
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries[0].state = DeliveryState::Waiting;
            story.deliveries[0].ahead = 1;
        }), @"The delivery to deployer waits for 1 older delivery in its lane, ref/200000001/refs/heads/main, and runs after that.");
        insta::assert_snapshot!(verdict_on(|story| story.deliveries[0].state = DeliveryState::Running), @"The delivery to deployer runs now: attempt 2, since 2026-01-05 10:00:02.250 UTC, by host-1/7.");
        insta::assert_snapshot!(verdict_on(|story| story.deliveries[0].state = DeliveryState::Queued), @r#"The delivery to deployer is next in line. If this lasts, look whether it is paused ("oncehook pauses"), and whether a worker runs: "oncehook serve" or "oncehook work"."#);
    }

    #[test]
    fn a_delivery_in_a_blocked_lane_says_what_holds_it_and_what_to_do() {
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries[0].state = DeliveryState::Waiting;
            story.deliveries[0].blocked_by = Some(sample::delivery_ref());
        }), @r#"The delivery to deployer waits, since the dead delivery dlv_01ke6vafet00000000000000d1 holds its lane, ref/200000001/refs/heads/main: ask for that one again ("oncehook deliveries retry dlv_01ke6vafet00000000000000d1"), or let the lane go on without it ("oncehook lanes unblock deploy KEY")."#);
    }

    #[test]
    fn a_stale_delivery_says_against_what() {
        insta::assert_snapshot!(verdict(&sample::stale_story()).join("\n"), @"The delivery to deployer was skipped: stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2.");
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries[0].stale = sample::stale_story().deliveries[0].stale.clone();
        }), @"The delivery to deployer succeeded on attempt 2, delivered stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2.");
    }

    #[test]
    fn a_receipt_without_a_route_says_what_to_write() {
        insta::assert_snapshot!(verdict_on(|story| story.deliveries.clear()), @r#"It is stored, and no route asked for it: nothing was delivered. If something should be, add a [[routes]] entry with source = "github" and events = ["push"], then run it again: "oncehook receipts replay rcp_01ke6vafet00000000000000r1"."#);
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries.clear();
            story.facts.held_since = Some(sample::morning());
        }), @r#"It is held as a suspected replay since 2026-01-05 10:00:00.250 UTC, and nothing was delivered: "oncehook release rcp_01ke6vafet00000000000000r1" lets it go on its way."#);
    }

    #[test]
    fn several_deliveries_are_told_apart_by_their_routes() {
        insta::assert_snapshot!(verdict_on(|story| story.deliveries.push(story.deliveries[0].clone())), @"All 2 deliveries succeeded.");
        insta::assert_snapshot!(verdict_on(|story| {
            story.deliveries.push(DeliveryStory { state: DeliveryState::Cancelled, ..story.deliveries[0].clone() });
            story.conflicts.push(sample::conflict());
        }), @"
        deploy: the delivery to deployer succeeded on attempt 2.
        deploy: the delivery to deployer was called off by an operator.
        1 other payload came under the same delivery id: kept beside the first, and not run.
        ");
    }
}
