//! Which deliveries: the filters that `deliveries` lists by, and by which dead letters are retried and discarded.

use chrono::{DateTime, Utc};

use crate::{cli::moment::moment, operate::DeliveryQuery};

/// The options.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[group(skip)]
pub struct Filter {
    /// Only those of this route.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// Only those to this destination.
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Only those of receipts of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only those of this event type: `push`, or `pull_request` for all of its actions.
    #[arg(long = "type", value_name = "EVENT-TYPE")]
    event_type: Option<String>,
    /// Only those in a lane of this key.
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// Only those planned since then: `2h` (ago), `2026-01-05`, `2026-01-05T10:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// Only those planned before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<DateTime<Utc>>,
    /// Only those whose last error contains this.
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only those of this group of dead letters: "oncehook dead-letters groups" lists them.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only those with this in an id: of the provider's, of the receipt's, of their own.
    #[arg(long = "match", value_name = "TEXT")]
    q: Option<String>,
}

impl Filter {
    /// The same as a question. Where its page begins and ends is left open, and the state.
    #[must_use]
    pub fn query(&self) -> DeliveryQuery {
        let filter = self.clone();
        DeliveryQuery {
            route: filter.route,
            destination: filter.destination,
            source: filter.source,
            event_type: filter.event_type,
            ordering_key: filter.ordering_key,
            since: filter.since,
            until: filter.until,
            error: filter.error,
            group: filter.group,
            q: filter.q,
            ..DeliveryQuery::default()
        }
    }

    /// Whether it lets everything pass.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}
