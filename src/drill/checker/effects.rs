//! P2 and P5: effects belong to receipts and come after them, a success has its effect, and where a sink can tell twice from
//! once there is no twice.

use std::collections::HashMap;

use super::{
    Offender, Verdict,
    evidence::{Evidence, Sink},
    journal::Call,
    stored::Entry,
};

/// Clocks of one machine, read by different processes: what they may differ by, in microseconds, when it is set meanwhile.
const CLOCK_TOLERANCE_US: i64 = 5_000;

pub(super) fn no_effect_before_its_receipt(e: &Evidence) -> Verdict {
    let calls = e.sinks().into_iter().flat_map(|sink| &sink.calls).map(Effect::of_call);
    let effects: Vec<_> = calls.chain(e.stored.ledger.iter().map(Effect::of_entry)).collect();
    let offenders: Vec<_> =
        effects.iter().filter_map(|effect| Some(Offender::delivery(effect.delivery, unfounded(e, effect)?))).collect();
    let looked_at = effects.len();
    Verdict::of(e, "no effect before its receipt", format!("{looked_at} effects and calls"), &offenders)
}

/// A call at a sink or a row of the ledger.
struct Effect<'a> {
    delivery: &'a str,
    receipt: &'a str,
    delivery_id: &'a str,
    body_sha256: &'a str,
    at_us: i64,
}

impl<'a> Effect<'a> {
    fn of_call(Call { at_us, delivery, receipt, delivery_id, body_sha256, .. }: &'a Call) -> Self {
        Self { delivery, receipt, delivery_id, body_sha256, at_us: *at_us }
    }

    fn of_entry(Entry { at_us, delivery, receipt, delivery_id, body_sha256, .. }: &'a Entry) -> Self {
        Self { delivery, receipt, delivery_id, body_sha256, at_us: *at_us }
    }
}

/// Why an effect should not have been.
fn unfounded(e: &Evidence, effect: &Effect<'_>) -> Option<String> {
    let name = effect.delivery;
    let Some(stored) = e.delivery(name).and_then(|found| e.receipt(found.receipt_id)) else {
        return Some(format!("an effect of {name}, of which nothing is stored"));
    };
    if stored.name() != effect.receipt || stored.delivery_id != effect.delivery_id {
        return Some(format!("an effect of {name} under {} ({})", effect.receipt, effect.delivery_id));
    }
    if stored.noted_sha256 != effect.body_sha256 {
        return Some(format!("an effect of {name} with another body"));
    }
    let early = stored.recorded_us - effect.at_us;
    (early > CLOCK_TOLERANCE_US).then(|| format!("an effect of {name} {early} µs before its receipt"))
}

/// A delivery that succeeded had its effect, and its sink knew of it before the success was written down.
pub(super) fn no_success_before_its_effect(e: &Evidence) -> Verdict {
    let mut looked_at = 0_usize;
    let mut offenders = Vec::new();
    for delivery in e.stored.deliveries.iter().filter(|delivery| delivery.state == "succeeded") {
        looked_at += 1;
        let name = delivery.name();
        for attempt in e.attempts_of(delivery).filter(|attempt| attempt.outcome.as_deref() == Some("succeeded")) {
            // A ledger's row and its mark are one transaction.
            let mut seen =
                (e.calls_of(&name).filter(|(_, call)| call.attempt == attempt.number).map(|(_, call)| call.at_us))
                    .chain(e.entries_of(&name).map(|_| i64::MIN));
            match seen.next() {
                None => offenders.push(Offender::delivery(
                    &name,
                    format!("{name} succeeded in attempt {}, of which its sink knows nothing", attempt.number),
                )),
                Some(at) if attempt.finished_us.is_some_and(|end| at > end + CLOCK_TOLERANCE_US) => {
                    let what = format!("{name} was marked in attempt {} before its effect", attempt.number);
                    offenders.push(Offender::delivery(&name, what));
                }
                Some(_) => {}
            }
        }
    }
    Verdict::of(e, "no success before its effect", format!("{looked_at} succeeded"), &offenders)
}

pub(super) fn no_duplicate_at_the_ledger(e: &Evidence) -> Verdict {
    let effects = e.stored.ledger.iter().map(|entry| entry.delivery.as_str());
    twice(e, "no duplicate at the ledger", effects)
}

pub(super) fn no_duplicate_at_the_idempotent_sink(e: &Evidence) -> Verdict {
    let Sink { calls, .. } = &e.idempotent;
    let effects = calls.iter().filter(|call| call.effect).map(|call| call.delivery.as_str());
    twice(e, "no duplicate at the idempotent sink", effects)
}

fn twice<'a>(e: &'a Evidence, name: &str, effects: impl Iterator<Item = &'a str>) -> Verdict {
    let mut counts: HashMap<_, usize> = HashMap::new();
    effects.for_each(|delivery| *counts.entry(delivery).or_default() += 1);
    let offenders: Vec<_> = counts
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(delivery, count)| Offender::delivery(delivery, format!("{delivery} had {count} effects")))
        .collect();
    Verdict::of(e, name, format!("{} effects", counts.values().sum::<usize>()), &offenders)
}
