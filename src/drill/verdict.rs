//! Checks of the drill itself: that it was large enough, hit hard enough, and that all of it ended. What the promises need is
//! checked by the checker, which shares no code with this.

use std::{collections::BTreeMap, time::Duration};

pub use super::checker::Verdict;
use super::{
    aftermath::{DRAINED_WITHIN, Recovery, Stored},
    profile::{Fault, Scale},
};

/// What promise P7 says of a dead worker's work.
const RECOVERED_WITHIN: Duration = Duration::from_secs(30);

/// The drill proves nothing without these.
pub fn of_the_drill(
    scale: &Scale,
    faults: &BTreeMap<Fault, usize>,
    stored: &Stored,
    recovery: &Recovery,
    drained: Option<Duration>,
) -> Vec<Verdict> {
    let verdict = |name: &str, passed, detail| Verdict { name: name.to_owned(), passed, detail };
    let short: Vec<String> = (scale.faults.iter())
        .filter(|(fault, planned)| faults.get(fault).copied().unwrap_or(0) < (planned * 9 / 10).max(1))
        .map(|(fault, planned)| {
            format!("{} {} times, planned {planned}", fault.name(), faults.get(fault).copied().unwrap_or(0))
        })
        .collect();
    let deliveries: i64 = stored.deliveries.values().sum();
    let needed = i64::try_from(scale.deliveries_min).unwrap_or(i64::MAX);
    let p99 = recovery.all.p99_ms.unwrap_or(0);
    vec![
        verdict(
            "the faults that were planned were injected",
            short.is_empty(),
            if short.is_empty() { "every class at least nine times of ten".to_owned() } else { short.join("; ") },
        ),
        verdict("enough was delivered", deliveries >= needed, format!("{deliveries} deliveries, at least {needed}")),
        verdict(
            "everything ended",
            drained.is_some(),
            match drained {
                Some(time) => format!("nothing was unfinished {:.1} s after the last fault", time.as_secs_f64()),
                None => format!("work was left {} s after the last fault", DRAINED_WITHIN.as_secs()),
            },
        ),
        verdict(
            "a dead worker's work starts again within 30 s",
            u128::from(p99.unsigned_abs()) <= RECOVERED_WITHIN.as_millis(),
            format!("p99 {p99} ms of {} that were cut off", recovery.all.count),
        ),
    ]
}
