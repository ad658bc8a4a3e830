//! The faults themselves: a fault that was planned and never happened proves nothing, and what a dead worker held has to be
//! under way again soon.

use std::collections::BTreeMap;

use super::{Offender, Verdict, evidence::Evidence, explained::is_worker_of};

/// The classes of fault that a drill injects unless its plan says otherwise.
const CLASSES: [&str; 8] =
    ["kill9", "sigterm", "sigstop", "pg_immediate", "backend_kill", "sink_500", "sink_hang", "sink_reset"];

/// A dead worker's work restarts within this (promise P7).
const RECOVERY_MAX_US: i64 = 30_000_000;

pub(super) fn planned_faults_were_injected(e: &Evidence) -> Verdict {
    let mut injected: BTreeMap<&str, usize> = BTreeMap::new();
    let all =
        e.faults.iter().map(|fault| fault.fault.as_str()).chain(e.misbehaviour.iter().map(|one| one.fault.as_str()));
    all.for_each(|fault| *injected.entry(fault).or_default() += 1);
    let planned: Vec<(&str, usize)> = match &e.plan.faults {
        None => CLASSES.map(|class| (class, 1)).to_vec(),
        Some(planned) => planned.iter().map(|(class, count)| (class.as_str(), *count)).collect(),
    };
    let offenders: Vec<_> = planned
        .iter()
        .map(|(class, wanted)| (class, wanted, injected.get(class).copied().unwrap_or(0)))
        .filter(|(_, wanted, happened)| happened < *wanted)
        .map(|(class, wanted, happened)| Offender::run(format!("{class}: {happened} of at least {wanted}")))
        .collect();
    let counts = injected.iter().map(|(class, count)| format!("{count} {class}")).collect::<Vec<_>>().join(", ");
    Verdict::of(e, "every planned fault was injected", counts, &offenders)
}

/// From the moment a worker is killed or frozen to the next attempt of what it held.
pub(super) fn recovery(e: &Evidence) -> Verdict {
    let mut waits = Vec::new();
    for fault in e.faults.iter().filter(|fault| matches!(fault.fault.as_str(), "kill9" | "sigstop")) {
        let Some(pid) = fault.pid else { continue };
        for attempt in e.stored.attempts.iter().filter(|attempt| is_worker_of(attempt, pid)) {
            let was_open = attempt.started_us <= fault.at_us && attempt.finished_us.is_none_or(|end| end > fault.at_us);
            // One that went on by itself after a freeze was not recovered by anybody.
            if !was_open || attempt.outcome.as_deref() != Some("unknown") {
                continue;
            }
            let next = e
                .stored
                .attempts
                .iter()
                .find(|next| next.delivery == attempt.delivery && next.number == attempt.number + 1);
            waits.extend(next.map(|next| (next.started_us - fault.at_us, fault.target.as_str(), next.delivery)));
        }
    }
    waits.sort_unstable();
    let at = |percent: usize| waits.get((waits.len() * percent / 100).min(waits.len().saturating_sub(1)));
    let seconds = |micros: i64| format!("{}.{:02} s", micros / 1_000_000, micros % 1_000_000 / 10_000);
    let (Some((half, ..)), Some((late, target, _))) = (at(50), at(99)) else {
        return Verdict::of(e, "recovery of a dead worker's work", "nothing was held by a worker that was hit", &[]);
    };
    let counts = format!("{} recovered, p50 {}, p99 {}", waits.len(), seconds(*half), seconds(*late));
    let offenders: Vec<_> = (*late > RECOVERY_MAX_US)
        .then(|| Offender::run(format!("p99 is over {}: held by {target}", seconds(RECOVERY_MAX_US))))
        .into_iter()
        .collect();
    Verdict::of(e, "recovery of a dead worker's work", counts, &offenders)
}
