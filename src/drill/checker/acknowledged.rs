//! P1, P3 and P8: what was answered with 2xx is stored, what is stored was sent by someone who holds the secret, and once.

use std::collections::{HashMap, HashSet};

use super::{Offender, Verdict, evidence::Evidence};

pub(super) fn acknowledged_is_stored(e: &Evidence) -> Verdict {
    let mut acknowledged = 0_usize;
    let mut unknown = 0_usize;
    let mut offenders = Vec::new();
    for sent in &e.sends {
        unknown += usize::from(sent.is_unknown());
        if !sent.is_acknowledged() {
            continue;
        }
        acknowledged += 1;
        let plan = &sent.plan;
        let is_stored = e.receipts_of(&plan.source, &plan.delivery_id).any(|receipt| {
            // A duplicate may differ in what its provider changes from one request to the next.
            receipt.has_body(&plan.body_sha256) || (sent.is("duplicate") && receipt.is_normalised)
        });
        if !is_stored {
            let what = format!("request #{} for {} was answered with 2xx and is not stored", plan.n, plan.delivery_id);
            offenders.push(Offender::event(&plan.delivery_id, what));
        }
    }
    let counts =
        format!("{acknowledged} of {} requests acknowledged, {unknown} with an unknown outcome", e.sends.len());
    Verdict::of(e, "acknowledged is stored", counts, &offenders)
}

pub(super) fn stored_was_sent(e: &Evidence) -> Verdict {
    let sent: HashSet<_> = e
        .sends
        .iter()
        .filter(|sent| !sent.is_forged())
        .map(|sent| (sent.plan.source.as_str(), sent.plan.delivery_id.as_str(), sent.plan.body_sha256.as_str()))
        .collect();
    let is_sent = |source: &str, id: &str, sha256: &str| sent.contains(&(source, id, sha256));
    let mut offenders = Vec::new();
    for receipt in &e.stored.receipts {
        let (source, id) = (receipt.source.as_str(), receipt.delivery_id.as_str());
        let stored = receipt.body_sha256.as_deref().unwrap_or(&receipt.noted_sha256);
        if !is_sent(source, id, stored) || stored != receipt.noted_sha256 {
            let what = format!("{} ({id}) holds a body that was not sent under its id", receipt.name());
            offenders.push(Offender::event(id, what));
        }
    }
    Verdict::of(e, "stored was sent", format!("{} receipts", e.stored.receipts.len()), &offenders)
}

pub(super) fn nothing_forged_is_stored(e: &Evidence) -> Verdict {
    let genuine: HashSet<_> =
        e.sends.iter().filter(|sent| !sent.is_forged()).map(|sent| sent.plan.delivery_id.as_str()).collect();
    let genuine_bodies: HashSet<_> =
        e.sends.iter().filter(|sent| !sent.is_forged()).map(|sent| sent.plan.body_sha256.as_str()).collect();
    let bodies: HashSet<_> = (e.stored.receipts.iter().map(|receipt| receipt.noted_sha256.as_str()))
        .chain(e.stored.conflicts.iter().map(|conflict| conflict.body_sha256.as_str()))
        .collect();
    let mut forged = 0_usize;
    let mut offenders = Vec::new();
    for sent in e.sends.iter().filter(|sent| sent.is_forged()) {
        forged += 1;
        let plan = &sent.plan;
        let id = plan.delivery_id.as_str();
        if sent.answer.as_ref().is_some_and(|answer| (200..300).contains(&answer.status)) {
            offenders.push(Offender::event(id, format!("forged request #{} was answered with 2xx", plan.n)));
        }
        let has_body =
            bodies.contains(plan.body_sha256.as_str()) && !genuine_bodies.contains(plan.body_sha256.as_str());
        let has_id = !genuine.contains(id) && e.receipts_of(&plan.source, id).next().is_some();
        if has_body || has_id {
            offenders.push(Offender::event(id, format!("forged request #{} is stored", plan.n)));
        }
    }
    Verdict::of(e, "nothing forged is stored", format!("{forged} forged requests"), &offenders)
}

pub(super) fn one_receipt_per_event(e: &Evidence) -> Verdict {
    let mut receipts: HashMap<_, usize> = HashMap::new();
    for receipt in &e.stored.receipts {
        *receipts.entry((receipt.source.as_str(), receipt.delivery_id.as_str())).or_default() += 1;
    }
    let mut accepted: HashMap<_, usize> = HashMap::new();
    for sent in e.sends.iter().filter(|sent| sent.is("accepted")) {
        *accepted.entry((sent.plan.source.as_str(), sent.plan.delivery_id.as_str())).or_default() += 1;
    }
    let stored_twice = receipts.iter().filter(|(_, count)| **count > 1);
    let accepted_twice = accepted.iter().filter(|(_, count)| **count > 1);
    let offenders: Vec<_> = stored_twice
        .map(|((_, id), count)| Offender::event(id, format!("{id} has {count} receipts")))
        .chain(accepted_twice.map(|((_, id), count)| Offender::event(id, format!("{id} was accepted {count} times"))))
        .collect();
    let counts = format!("{} events stored, {} accepted", receipts.len(), accepted.len());
    Verdict::of(e, "one receipt per event", counts, &offenders)
}
