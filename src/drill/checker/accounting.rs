//! Whether the numbers add up: from requests to receipts, from receipts to deliveries, from deliveries to their ends.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Offender, Verdict, evidence::Evidence};

/// Receipts = events that were accepted + events whose answer was lost and that were stored.
pub(super) fn receipts_add_up(e: &Evidence) -> Verdict {
    let event = |source: &str, delivery_id: &str| (source.to_owned(), delivery_id.to_owned());
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    let mut accepted = HashSet::new();
    let mut unknown = HashSet::new();
    for sent in e.sends.iter() {
        let answer =
            sent.answer.as_ref().map(|answer| answer.state.clone().unwrap_or_else(|| answer.status.to_string()));
        *answers.entry(answer.unwrap_or_else(|| "unknown".to_owned())).or_default() += 1;
        if sent.is("accepted") {
            accepted.insert(event(&sent.plan.source, &sent.plan.delivery_id));
        }
        if sent.is_unknown() && !sent.is_forged() {
            unknown.insert(event(&sent.plan.source, &sent.plan.delivery_id));
        }
    }
    let mut by_luck = 0_usize;
    let mut offenders = Vec::new();
    for receipt in &e.stored.receipts {
        let event = event(&receipt.source, &receipt.delivery_id);
        if accepted.contains(&event) {
            continue;
        }
        by_luck += 1;
        if !unknown.contains(&event) {
            let what =
                format!("{} was stored, but no request for it was accepted or lost its answer", receipt.delivery_id);
            offenders.push(Offender::event(&receipt.delivery_id, what));
        }
    }
    let known = e.stored.receipts.len() - by_luck;
    if known != accepted.len() {
        offenders
            .push(Offender::run(format!("{} events were accepted, and {known} of them are stored", accepted.len())));
    }
    let counts = format!(
        "{} receipts = {} accepted + {by_luck} with a lost answer; answers: {}",
        e.stored.receipts.len(),
        accepted.len(),
        listed(&answers)
    );
    Verdict::of(e, "receipts add up", counts, &offenders)
}

/// Each receipt has one delivery per route of its source, each delivery one state, and a success one successful attempt.
pub(super) fn deliveries_add_up(e: &Evidence) -> Verdict {
    let mut routes: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for route in &e.plan.routes {
        routes.entry(&route.source).or_default().insert(&route.name);
    }
    let is_planned = !routes.is_empty();
    let mut deliveries: HashMap<_, Vec<&str>> = HashMap::new();
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let mut offenders = Vec::new();
    for delivery in &e.stored.deliveries {
        *states.entry(delivery.state.clone()).or_default() += 1;
        deliveries.entry(delivery.receipt_id).or_default().push(&delivery.route);
        match e.receipt(delivery.receipt_id) {
            Some(receipt) if !is_planned => {
                routes.entry(&receipt.source).or_default().insert(&delivery.route);
            }
            Some(_) => {}
            None => offenders.push(Offender::delivery(&delivery.name(), format!("{} has no receipt", delivery.name()))),
        }
        let successes =
            e.attempts_of(delivery).filter(|attempt| attempt.outcome.as_deref() == Some("succeeded")).count();
        if successes != usize::from(delivery.state == "succeeded") {
            let what = format!("{} is {} with {successes} successful attempts", delivery.name(), delivery.state);
            offenders.push(Offender::delivery(&delivery.name(), what));
        }
    }
    for receipt in &e.stored.receipts {
        let mut has = deliveries.remove(&receipt.id).unwrap_or_default();
        has.sort_unstable();
        let wants: Vec<_> = routes.get(receipt.source.as_str()).into_iter().flatten().copied().collect();
        if has != wants {
            let what = format!("{} has deliveries on {has:?} and should have them on {wants:?}", receipt.delivery_id);
            offenders.push(Offender::event(&receipt.delivery_id, what));
        }
    }
    let counts =
        format!("{} receipts, {} deliveries: {}", e.stored.receipts.len(), e.stored.deliveries.len(), listed(&states));
    Verdict::of(e, "deliveries add up", counts, &offenders)
}

pub(super) fn no_unplanned_dead_letters(e: &Evidence) -> Verdict {
    let dead: Vec<_> = e.stored.deliveries.iter().filter(|delivery| delivery.state == "dead").collect();
    let planned = e.plan.dead_letters;
    let mut offenders = Vec::new();
    if dead.len() != planned {
        offenders.push(Offender::run(format!("{} dead letters where {planned} were planned", dead.len())));
        offenders.extend(dead.iter().map(|one| Offender::delivery(&one.name(), format!("{} is dead", one.name()))));
    }
    Verdict::of(e, "no unplanned dead letters", format!("{} dead, {planned} planned", dead.len()), &offenders)
}

fn listed(counts: &BTreeMap<String, usize>) -> String {
    let parts: Vec<_> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(" + ") }
}
