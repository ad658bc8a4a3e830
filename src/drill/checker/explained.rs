//! P5 where effects cross a network: each call after a delivery's first one follows an attempt whose outcome was lost or bad,
//! and that attempt met a fault which somebody wrote down.

use std::collections::{HashMap, HashSet};

use super::{
    Offender, Verdict,
    evidence::Evidence,
    journal::{Call, Fault},
    stored::Attempt,
};

/// How far a fault may lie outside of the attempt that it explains, in microseconds: both are written down a little later
/// than they happen.
const NEAR_US: i64 = 1_000_000;

pub(super) fn extra_calls_are_explained(e: &Evidence) -> Verdict {
    let misbehaved: HashSet<_> = e.misbehaviour.iter().map(|one| one.delivery.as_str()).collect();
    let mut extra = 0_usize;
    let mut total = 0_usize;
    let mut offenders = Vec::new();
    for sink in e.sinks() {
        let mut by_delivery: HashMap<&str, Vec<&Call>> = HashMap::new();
        for call in &sink.calls {
            by_delivery.entry(&call.delivery).or_default().push(call);
        }
        total += sink.calls.len();
        for (name, mut calls) in by_delivery {
            extra += calls.len() - 1;
            calls.sort_by_key(|call| call.attempt);
            if let Some(what) = unexplained(e, name, &calls, misbehaved.contains(name)) {
                offenders.push(Offender::delivery(name, format!("{name} at the {} sink: {what}", sink.name)));
            }
        }
    }
    Verdict::of(e, "extra calls are explained", format!("{total} calls, {extra} extra"), &offenders)
}

/// Why these calls of one delivery, in the order of their attempts, cannot be accounted for.
fn unexplained(e: &Evidence, name: &str, calls: &[&Call], has_misbehaved: bool) -> Option<String> {
    let delivery = e.delivery(name)?;
    let attempts: HashMap<_, _> = e.attempts_of(delivery).map(|attempt| (attempt.number, attempt)).collect();
    if let Some(call) = calls.iter().find(|call| !attempts.contains_key(&call.attempt)) {
        return Some(format!("a call in attempt {}, which was never opened", call.attempt));
    }
    if let Some(pair) = calls.windows(2).find(|pair| pair[0].attempt == pair[1].attempt) {
        return Some(format!("two calls in attempt {}", pair[0].attempt));
    }
    let (_, repeated) = calls.split_last()?;
    repeated.iter().find_map(|call| {
        let attempt = attempts[&call.attempt];
        let number = attempt.number;
        if attempt.outcome.as_deref() == Some("succeeded") {
            return Some(format!("called again after attempt {number} had succeeded"));
        }
        // Where the sink's answer came through, only the sink can be what was wrong.
        let was_answered = matches!(attempt.outcome.as_deref(), Some("failed" | "rejected"));
        let is_explained =
            has_misbehaved || (!was_answered && e.faults.iter().any(|fault| may_explain(fault, attempt)));
        (!is_explained).then(|| format!("called again after attempt {number}, which met no fault that was injected"))
    })
}

fn may_explain(fault: &Fault, attempt: &Attempt) -> bool {
    let (from, until) = (attempt.started_us - NEAR_US, attempt.finished_us.map_or(i64::MAX, |end| end + NEAR_US));
    if fault.at_us > until || fault.until_us.unwrap_or(fault.at_us) < from {
        return false;
    }
    match fault.fault.as_str() {
        // A fault of one process explains what that process ran, and nothing else.
        "kill9" | "sigterm" | "sigstop" => fault.pid.is_some_and(|pid| is_worker_of(attempt, pid)),
        // A fault of the database explains what needed it meanwhile.
        _ => true,
    }
}

/// The name of a worker begins with `host/pid/`.
pub(super) fn is_worker_of(attempt: &Attempt, pid: u32) -> bool {
    attempt.worker.split('/').nth(1) == Some(pid.to_string().as_str())
}
