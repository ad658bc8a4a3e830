//! Takes the story of a delivery and gives its part of the page that `receipts show` prints. Pure; safe for a terminal.

use super::{
    colour::{Paint, Palette},
    output::table,
    stamp::{stamp, took},
    visible::{Visible, cut},
};
use crate::{
    domain::DeliveryState,
    store::delivery_story::{AttemptFacts, DeliveryStory},
};

/// What is known about one delivery: a blank line, what it is, and its attempts.
#[must_use]
pub fn delivery_lines(delivery: &DeliveryStory, palette: Palette) -> Vec<String> {
    let mut lines = vec![String::new(), format!("delivery {}", delivery.id)];
    let what_for = if delivery.purpose == crate::domain::Purpose::Compensate { ", a compensation" } else { "" };
    lines.push(format!("  {} → {}{what_for}: {}", delivery.route, delivery.destination, palette.state(delivery.state)));
    match &delivery.ordering_key {
        Some(key) => {
            let order = if delivery.by_event { ", by event time" } else { "" };
            lines.push(format!("  lane {}{order}", Visible(key)));
        }
        None => lines.push("  no lane: it waits for no other delivery".to_owned()),
    }
    if let Some(stale) = &delivery.stale {
        let what = if delivery.state == DeliveryState::Skipped { "skipped:" } else { "delivered" };
        lines.push(format!("  {what} {}", Visible(&stale.why)));
    }
    if !delivery.state.is_finished() {
        lines.push(format!("  due {} UTC", stamp(delivery.due_at)));
    }
    if delivery.crashes > 0 {
        lines.push(format!("  workers that died while they held it: {}", delivery.crashes));
    }
    if delivery.attempts.is_empty() {
        lines.push("  no attempt yet".to_owned());
        return lines;
    }
    let header = ["#", "trigger", "started (UTC)", "took", "outcome", "answer", "reason", "worker"];
    let rows: Vec<_> = delivery.attempts.iter().map(attempt_cells).collect();
    let attempts = palette.column(&table(&header, rows.clone()), &rows, 4, of_outcome);
    lines.extend(attempts.lines().map(|line| format!("  {line}")));
    lines
}

fn of_outcome(outcome: &str) -> Paint {
    match outcome {
        "succeeded" => Paint::Good,
        "under way" => Paint::Plain,
        _ => Paint::Bad,
    }
}

fn attempt_cells(attempt: &AttemptFacts) -> Vec<String> {
    let status = attempt.answer_status.map(|status| status.to_string());
    let first_line = attempt.answer_beginning.as_deref().and_then(|answer| answer.lines().next());
    let answer: Vec<String> =
        [status, first_line.map(|line| Visible(&cut(line, 60)).to_string())].into_iter().flatten().collect();
    vec![
        attempt.number.to_string(),
        Visible(&attempt.trigger).to_string(),
        stamp(attempt.started_at),
        attempt.duration_ms.map(took).unwrap_or_default(),
        Visible(attempt.outcome.as_deref().unwrap_or("under way")).to_string(),
        answer.join(" "),
        Visible(&cut(attempt.reason.as_deref().unwrap_or_default(), 200)).to_string(),
        Visible(&attempt.worker).to_string(),
    ]
}
