//! What `[[routes]]` say about lanes: what waits for what, and what becomes of a lane when a delivery is stale or dead. It
//! checks that keys stand together that mean something together.

use std::{ops::RangeInclusive, time::Duration};

use super::{
    compiled::{KeyFrom, OnDead, OnStale, Order},
    reader::Reader,
};
use crate::route::{Mistake, check_ordering_key};

/// Deliveries at a time: more than any number of processes have workers for, so that a limit is one that is meant.
pub(super) const CONCURRENCY: RangeInclusive<u32> = 1..=10_000;

/// The longest wait for events that come late. All of a route waits that long, always: beyond minutes nobody wants it.
const REORDER_WINDOW_MAX: Duration = Duration::from_secs(300);

/// A route's settings for its lanes.
pub(super) struct Lanes {
    pub(super) order: Order,
    pub(super) ordering_key: KeyFrom,
    pub(super) on_stale: OnStale,
    pub(super) reorder_window: Duration,
    pub(super) on_dead: OnDead,
    pub(super) concurrency: Option<u32>,
}

impl Lanes {
    pub(super) fn read(table: &Reader<'_>) -> Self {
        let orders = [("arrival", Order::Arrival), ("event", Order::Event), ("none", Order::None)];
        let stale = [("skip", OnStale::Skip), ("deliver", OnStale::Deliver)];
        let dead = [("continue", OnDead::Continue), ("block", OnDead::Block)];
        let lanes = Self {
            order: table.choice(
                "order",
                &orders,
                "order",
                "\"arrival\" (one at a time per ordering key, in the order received), \"event\" (by the provider's own \
                 event time) or \"none\"",
            ),
            ordering_key: ordering_key(table),
            on_stale: table.choice(
                "on_stale",
                &stale,
                "way with stale deliveries",
                "\"skip\" (what is older than what its lane has applied is not run) or \"deliver\"",
            ),
            reorder_window: table.duration("reorder_window", Duration::ZERO, Duration::ZERO..=REORDER_WINDOW_MAX),
            on_dead: table.choice(
                "on_dead",
                &dead,
                "way with dead deliveries",
                "\"continue\" (the lane goes on) or \"block\" (it waits until the dead delivery is asked for again, or an \
                 operator unblocks it)",
            ),
            concurrency: table.limit("concurrency", 8, CONCURRENCY),
        };
        lanes.check(table);
        lanes
    }

    /// Keys that would do nothing are refused: whoever wrote them expects something of them.
    fn check(&self, table: &Reader<'_>) {
        if self.order != Order::Event {
            for key in ["on_stale", "reorder_window"].into_iter().filter(|key| table.has(key)) {
                let problem = "has no meaning in this route: only order = \"event\" looks at the provider's event time";
                table.mistake(key, problem, format!("remove it, or write order = \"event\" ({EVENT_HINT})"));
            }
        }
        if self.order == Order::None {
            if self.on_dead == OnDead::Block {
                let problem = "is \"block\", but with order = \"none\" there is no lane to block";
                table.mistake("on_dead", problem, "remove it, or write order = \"arrival\" or \"event\"");
            }
            if self.ordering_key != KeyFrom::Auto {
                let problem = "has no meaning in this route: with order = \"none\" nothing waits for anything";
                table.mistake("ordering_key", problem, "remove it, or write order = \"arrival\" or \"event\"");
            }
        }
    }
}

/// Where a reader finds what event time does.
const EVENT_HINT: &str = "docs/ordering.md says what that does";

fn ordering_key(table: &Reader<'_>) -> KeyFrom {
    let Some(text) = table.text("ordering_key", "/repository/id") else { return KeyFrom::Auto };
    let from = match text {
        "auto" => return KeyFrom::Auto,
        _ if text.starts_with('/') => KeyFrom::Pointer(text.to_owned()),
        _ => KeyFrom::Expression(text.to_owned()),
    };
    match check_ordering_key(&from) {
        Ok(()) => from,
        Err(Mistake { problem, instead }) => {
            table.mistake("ordering_key", problem, instead);
            KeyFrom::Auto
        }
    }
}
