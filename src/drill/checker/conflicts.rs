//! P4: another payload under a known id is kept beside the first one, and never run.

use std::collections::{HashMap, HashSet};

use super::{Offender, Verdict, evidence::Evidence};

/// The bodies that stand beside each event's receipt.
fn kept(e: &Evidence) -> HashMap<(&str, &str), HashSet<&str>> {
    let mut kept: HashMap<_, HashSet<_>> = HashMap::new();
    for conflict in &e.stored.conflicts {
        if let Some(receipt) = e.receipt(conflict.receipt_id) {
            let event = (receipt.source.as_str(), receipt.delivery_id.as_str());
            kept.entry(event).or_default().insert(conflict.body_sha256.as_str());
        }
    }
    kept
}

pub(super) fn conflicts_are_kept(e: &Evidence) -> Verdict {
    let kept = kept(e);
    let mut acknowledged = HashSet::new();
    let mut possible = HashSet::new();
    let mut offenders = Vec::new();
    for sent in &e.sends {
        let (event, body) =
            ((sent.plan.source.as_str(), sent.plan.delivery_id.as_str()), sent.plan.body_sha256.as_str());
        if sent.is_unknown() && !sent.is_forged() {
            possible.insert((event, body));
        }
        if !sent.is("conflict") {
            continue;
        }
        acknowledged.insert((event, body));
        if !kept.get(&event).is_some_and(|bodies| bodies.contains(body)) {
            let what = format!(
                "the other body of {}, request #{}, was answered as a conflict and is not kept",
                event.1, sent.plan.n
            );
            offenders.push(Offender::event(event.1, what));
        }
    }
    for (event, bodies) in &kept {
        for body in bodies
            .iter()
            .filter(|body| !acknowledged.contains(&(*event, **body)) && !possible.contains(&(*event, **body)))
        {
            let what = format!("{} keeps a conflict with the body {body}, which nobody sent as one", event.1);
            offenders.push(Offender::event(event.1, what));
        }
    }
    let counts = format!("{} kept, {} acknowledged", e.stored.conflicts.len(), acknowledged.len());
    Verdict::of(e, "conflicts are kept", counts, &offenders)
}

pub(super) fn conflicts_are_never_run(e: &Evidence) -> Verdict {
    let kept = kept(e);
    let calls = e.sinks().into_iter().flat_map(|sink| &sink.calls).map(|call| (&call.delivery, &call.body_sha256));
    let entries = e.stored.ledger.iter().map(|entry| (&entry.delivery, &entry.body_sha256));
    let offenders: Vec<_> = calls
        .chain(entries)
        .filter(|(delivery, body)| {
            let receipt = e.delivery(delivery).and_then(|found| e.receipt(found.receipt_id));
            let bodies = receipt.and_then(|receipt| kept.get(&(receipt.source.as_str(), receipt.delivery_id.as_str())));
            bodies.is_some_and(|bodies| bodies.contains(body.as_str()))
        })
        .map(|(delivery, _)| Offender::delivery(delivery, format!("{delivery} ran the body of a conflict")))
        .collect();
    Verdict::of(e, "conflicts are never run", format!("{} kept", e.stored.conflicts.len()), &offenders)
}
