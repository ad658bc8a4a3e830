//! Which receipts: the filters that `receipts` lists, searches and follows by.

use chrono::{DateTime, Utc};

use crate::{cli::moment::moment, domain::DeliveryState, operate::ReceiptQuery};

#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct Filter {
    /// Only receipts of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only this event type: `push`, or `pull_request` for all of its actions.
    #[arg(long = "type", value_name = "EVENT-TYPE")]
    event_type: Option<String>,
    /// Only receipts with this id of the provider's: X-GitHub-Delivery, evt_…, webhook-id.
    #[arg(long, value_name = "ID")]
    delivery_id: Option<String>,
    /// Only receipts that are about this, or have a delivery in a lane of this key.
    #[arg(long, value_name = "KEY")]
    ordering_key: Option<String>,
    /// Only receipts with a delivery in this state: waiting, queued, running, retrying, succeeded, dead, skipped, cancelled.
    #[arg(long)]
    state: Option<DeliveryState>,
    /// Only receipts with a delivery of this route.
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// Only receipts with a delivery to this destination.
    #[arg(long, value_name = "NAME")]
    destination: Option<String>,
    /// Only receipts since then: `2h` (ago), `2026-01-05`, `2026-01-05T10:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<DateTime<Utc>>,
    /// Only receipts before then.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<DateTime<Utc>>,
    /// Only receipts with a remark that begins so: `suspected_replay`, `default_lane`.
    #[arg(long, value_name = "REMARK")]
    flag: Option<String>,
    /// Only receipts that are held as suspected replays ("oncehook release").
    #[arg(long)]
    held: bool,
    /// Only receipts that matched no route.
    #[arg(long)]
    unmatched: bool,
}

impl Filter {
    /// The same as a question. Where its page begins and ends is left open.
    pub(super) fn query(&self) -> ReceiptQuery {
        let filter = self.clone();
        ReceiptQuery {
            source: filter.source,
            event_type: filter.event_type,
            delivery_id: filter.delivery_id,
            ordering_key: filter.ordering_key,
            state: filter.state,
            route: filter.route,
            destination: filter.destination,
            since: filter.since,
            until: filter.until,
            flag: filter.flag,
            held: filter.held.then_some(true),
            unmatched: filter.unmatched.then_some(true),
            ..ReceiptQuery::default()
        }
    }
}
