//! P6: the deliveries of one (route, ordering key) run one after another, in the order asked for.

use std::collections::{BTreeMap, HashMap};

use super::{Offender, Verdict, evidence::Evidence, stored::Delivery};

/// Times in the database are those of the beginning of a transaction, which may have waited for the one that it follows: that
/// much of an overlap, in microseconds, is none.
const TRANSACTION_TOLERANCE_US: i64 = 50_000;

/// The deliveries of each lane, in the order of their sequence.
fn lanes(e: &Evidence) -> BTreeMap<(&str, &str), Vec<&Delivery>> {
    let mut lanes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for delivery in &e.stored.deliveries {
        if let Some(key) = &delivery.ordering_key {
            lanes.entry((delivery.route.as_str(), key.as_str())).or_default().push(delivery);
        }
    }
    lanes
}

pub(super) fn effects_in_order(e: &Evidence) -> Verdict {
    let by_event: HashMap<_, _> =
        e.plan.routes.iter().filter(|route| route.order == "event").map(|route| (route.name.as_str(), route)).collect();
    let mut looked_at = 0_usize;
    let mut offenders = Vec::new();
    let lanes = lanes(e);
    for ((route, key), deliveries) in &lanes {
        let planned = by_event.get(route);
        if planned.is_some_and(|planned| planned.on_stale == "deliver") {
            continue;
        }
        let mut came: Vec<_> = deliveries.iter().filter_map(|one| Some((first_effect(e, one)?, *one))).collect();
        came.sort_by_key(|(place, _)| *place);
        looked_at += came.len();
        for pair in came.windows(2) {
            let (before, after) = (pair[0].1, pair[1].1);
            let is_wrong = match planned {
                None => before.seq > after.seq,
                Some(_) => event_us(e, before).zip(event_us(e, after)).is_some_and(|(before, after)| before > after),
            };
            if is_wrong {
                let (before, after) = (before.name(), after.name());
                let what = format!("{after} had its effect after {before}, which comes later in lane {route} / {key}");
                offenders.push(Offender::delivery(&after, what));
            }
        }
    }
    let counts = format!("{looked_at} first effects in {} lanes", lanes.len());
    Verdict::of(e, "order per key at the sinks", counts, &offenders)
}

/// Where the first effect stands in its sink's journal.
fn first_effect(e: &Evidence, delivery: &Delivery) -> Option<usize> {
    e.calls_of(&delivery.name()).filter(|(_, call)| call.effect).map(|(place, _)| place).min()
}

fn event_us(e: &Evidence, delivery: &Delivery) -> Option<i64> {
    e.receipt(delivery.receipt_id)?.event_us
}

/// No attempt begins while another delivery of the lane is under way.
pub(super) fn one_at_a_time(e: &Evidence) -> Verdict {
    let mut looked_at = 0_usize;
    let mut offenders = Vec::new();
    let lanes = lanes(e);
    for ((route, key), deliveries) in &lanes {
        let mut spans: Vec<_> = deliveries.iter().filter_map(|delivery| Span::of(e, delivery)).collect();
        spans.sort_by_key(|span| (span.begin, span.end));
        looked_at += spans.len();
        for pair in spans.windows(2) {
            if pair[1].begin + TRANSACTION_TOLERANCE_US < pair[0].end {
                let (first, second) = (pair[0].delivery.name(), pair[1].delivery.name());
                let what = format!("{second} began while {first} was under way in lane {route} / {key}");
                offenders.push(Offender::delivery(&second, what));
                offenders.push(Offender::delivery(&first, format!("{first}, the other one")));
            }
        }
    }
    Verdict::of(e, "one at a time per key", format!("{looked_at} deliveries in {} lanes", lanes.len()), &offenders)
}

/// From a delivery's first attempt to its end.
struct Span<'a> {
    delivery: &'a Delivery,
    begin: i64,
    end: i64,
}

impl<'a> Span<'a> {
    /// `None` for one that never ran, and for one that was run again after its end.
    fn of(e: &Evidence, delivery: &'a Delivery) -> Option<Self> {
        if e.attempts_of(delivery).any(|attempt| attempt.trigger != "automatic") {
            return None;
        }
        let begin = e.attempts_of(delivery).map(|attempt| attempt.started_us).min()?;
        let last = e.attempts_of(delivery).map(|attempt| attempt.finished_us.unwrap_or(i64::MAX)).max()?;
        Some(Self { delivery, begin, end: last.max(delivery.finished_us.unwrap_or(i64::MAX)) })
    }
}

pub(super) fn ledger_in_order(e: &Evidence) -> Verdict {
    let mut last: HashMap<(&str, &str), &Delivery> = HashMap::new();
    let mut offenders = Vec::new();
    let event_order =
        |route: &str| e.plan.routes.iter().any(|planned| planned.name == route && planned.order == "event");
    for entry in &e.stored.ledger {
        let Some(delivery) = e.delivery(&entry.delivery).filter(|delivery| !event_order(&delivery.route)) else {
            continue;
        };
        let Some(key) = &delivery.ordering_key else { continue };
        if let Some(before) = last.insert((&delivery.route, key), delivery)
            && before.seq > delivery.seq
        {
            let (name, before) = (delivery.name(), before.name());
            let what = format!("{name} is in the ledger behind {before}, which comes later in its lane");
            offenders.push(Offender::delivery(&name, what));
        }
    }
    let counts = format!("{} rows of {} lanes", e.stored.ledger.len(), last.len());
    Verdict::of(e, "order per key at the ledger", counts, &offenders)
}
