//! P7: it all ended. No delivery is unfinished, no lane, open attempt or job is left.

use std::collections::BTreeMap;

use super::{Offender, Verdict, evidence::Evidence};

pub(super) fn nothing_is_stuck(e: &Evidence) -> Verdict {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut offenders = Vec::new();
    for (kind, which) in &e.stored.left_over {
        *kinds.entry(kind).or_default() += 1;
        offenders.push(Offender::run(format!("{kind}: {which}")));
    }
    let counts = if kinds.is_empty() {
        format!("{} deliveries finished, no lane, open attempt or job left", e.stored.deliveries.len())
    } else {
        kinds.iter().map(|(kind, count)| format!("{count} × {kind}")).collect::<Vec<_>>().join(", ")
    };
    Verdict::of(e, "nothing is stuck", counts, &offenders)
}
