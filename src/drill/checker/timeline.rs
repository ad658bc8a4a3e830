//! The story of one event or delivery from every witness, in the order of time.

use super::{About, evidence::Evidence};

/// Lines that a story has at most; an event that was sent hundreds of times need not be told in full.
const LINES_MAX: usize = 40;

/// The story, a line each.
pub(super) fn of(evidence: &Evidence, about: &About) -> Vec<String> {
    let (delivery_id, only) = match about {
        About::Event(delivery_id) => (delivery_id.clone(), None),
        About::Delivery(name) => match evidence.delivery(name).and_then(|found| evidence.receipt(found.receipt_id)) {
            Some(receipt) => (receipt.delivery_id.clone(), Some(name.as_str())),
            None => (String::new(), Some(name.as_str())),
        },
        About::Run => return Vec::new(),
    };
    let mut story = Vec::new();
    tell_requests(evidence, &delivery_id, &mut story);
    tell_receipts(evidence, &delivery_id, only, &mut story);
    if let Some(name) = only {
        tell_work(evidence, name, &mut story);
    }
    story.sort_by_key(|(at, _)| *at);
    let begin = evidence.sends.first().map_or(0, |sent| sent.plan.at_us);
    let left_out = story.len().saturating_sub(LINES_MAX);
    let mut lines: Vec<_> =
        story.into_iter().take(LINES_MAX).map(|(at, what)| format!("{} {what}", since(begin, at))).collect();
    if left_out > 0 {
        lines.push(format!("… and {left_out} more"));
    }
    lines
}

fn tell_requests(evidence: &Evidence, delivery_id: &str, story: &mut Vec<(i64, String)>) {
    for sent in evidence.sends.iter().filter(|sent| sent.plan.delivery_id == delivery_id) {
        let plan = &sent.plan;
        let sha = short(&plan.body_sha256);
        story.push((plan.at_us, format!("sent #{} ({}, body {sha}) to {}", plan.n, plan.variant, plan.receiver)));
        match &sent.answer {
            Some(answer) => {
                let state = answer.state.as_deref().unwrap_or("-");
                story.push((answer.at_us, format!("answer to #{}: {} {state}", plan.n, answer.status)));
            }
            None => story.push((plan.at_us, format!("answer to #{}: never came", plan.n))),
        }
    }
}

fn tell_receipts(evidence: &Evidence, delivery_id: &str, only: Option<&str>, story: &mut Vec<(i64, String)>) {
    for receipt in evidence.stored.receipts.iter().filter(|receipt| receipt.delivery_id == delivery_id) {
        let what = format!("{} recorded, body {}", receipt.name(), short(&receipt.noted_sha256));
        story.push((receipt.recorded_us, what));
        let deliveries = evidence.stored.deliveries.iter().filter(|delivery| delivery.receipt_id == receipt.id);
        for delivery in deliveries.filter(|delivery| only.is_none_or(|only| only == delivery.name())) {
            if only.is_none() {
                tell_work(evidence, &delivery.name(), story);
            }
            let at = delivery.finished_us.unwrap_or(i64::MAX);
            let key = delivery.ordering_key.as_deref().unwrap_or("-");
            let (name, seq) = (delivery.name(), delivery.seq);
            story.push((at, format!("{name} is {} (route {}, key {key}, seq {seq})", delivery.state, delivery.route)));
        }
    }
}

fn tell_work(evidence: &Evidence, name: &str, story: &mut Vec<(i64, String)>) {
    for attempt in evidence.delivery(name).into_iter().flat_map(|delivery| evidence.attempts_of(delivery)) {
        let number = attempt.number;
        story.push((attempt.started_us, format!("{name} attempt {number} opened by {}", attempt.worker)));
        let (outcome, reason) = (attempt.outcome.as_deref().unwrap_or("open"), attempt.reason.as_deref().unwrap_or(""));
        let at = attempt.finished_us.unwrap_or(i64::MAX);
        story.push((at, format!("{name} attempt {number} is {outcome} {reason}")));
    }
    for (_, call) in evidence.calls_of(name) {
        let effect = if call.effect { "effect" } else { "no effect" };
        story.push((call.at_us, format!("{name} attempt {} seen by its sink: {effect}", call.attempt)));
    }
    for entry in evidence.entries_of(name) {
        story.push((entry.at_us, format!("{name} in the ledger, row {}", entry.n)));
    }
}

fn since(begin: i64, at: i64) -> String {
    if at == i64::MAX {
        return "  at the end".to_owned();
    }
    let micros = at - begin;
    format!("{:>8}.{:06} s", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000))
}

fn short(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}
