//! Checks of the drill itself: that it was large enough, and that all of it ended. What the promises need, and that every
//! fault was injected, is checked by the checker, which shares no code with this.

use std::time::Duration;

pub use super::checker::Verdict;
use super::{aftermath::Stored, profile::Scale};

/// The drill proves nothing without these.
pub fn of_the_drill(scale: &Scale, stored: &Stored, drained: Option<Duration>, within: Duration) -> Vec<Verdict> {
    let verdict = |name: &str, passed, detail| Verdict { name: name.to_owned(), passed, detail };
    let deliveries: i64 = stored.deliveries.values().sum();
    let needed = i64::try_from(scale.deliveries_min).unwrap_or(i64::MAX);
    vec![
        verdict("enough was delivered", deliveries >= needed, format!("{deliveries} deliveries, at least {needed}")),
        verdict(
            "everything ended",
            drained.is_some(),
            match drained {
                Some(time) => format!("nothing was unfinished {:.1} s after the last fault", time.as_secs_f64()),
                None => format!("work was left {} s after the last fault", within.as_secs()),
            },
        ),
    ]
}
