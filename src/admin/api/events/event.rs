//! One event, as it is sent, and who wants it. Pure.

use std::sync::Arc;

use serde_json::json;

use crate::{
    domain::ReceiptId,
    operate::BulkProgress,
    store::event_feed::{FreshReceipt, TriedDelivery},
};

/// One event. Cheap to clone: each stream has its own.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// The receipt, where it is about a new one.
    pub(super) receipt: Option<ReceiptId>,
    /// Whose it is; `None`: it is about no single receipt.
    of: Option<Arc<Of>>,
    /// As it goes over the wire.
    pub(super) wire: Arc<str>,
}

#[derive(Debug)]
struct Of {
    source: String,
    event_type: String,
}

/// Which events a stream wants.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub(super) source: Option<String>,
    pub(super) event_type: Option<String>,
}

impl Event {
    pub(super) fn receipt(receipt: &FreshReceipt) -> Self {
        let data = json!({
            "receipt": receipt.id,
            "source": receipt.source,
            "type": receipt.event_type,
            "delivery_id": receipt.delivery_id,
        });
        // JSON has no line break but escaped ones, and an id has none at all.
        let wire = format!("id: {}\nevent: receipt\ndata: {data}\n\n", receipt.id).into();
        Self { receipt: Some(receipt.id), of: of(&receipt.source, &receipt.event_type), wire }
    }

    pub(super) fn delivery(delivery: &TriedDelivery) -> Self {
        let data = json!({
            "delivery": delivery.id,
            "receipt": delivery.receipt,
            "source": delivery.source,
            "type": delivery.event_type,
            "route": delivery.route,
            "destination": delivery.destination,
            "state": delivery.state,
            "attempts": delivery.attempts,
        });
        let wire = format!("event: delivery\ndata: {data}\n\n").into();
        Self { receipt: None, of: of(&delivery.source, &delivery.event_type), wire }
    }

    pub(super) fn bulk(bulk: &BulkProgress) -> Self {
        let data = json!(bulk);
        Self { receipt: None, of: None, wire: format!("event: bulk\ndata: {data}\n\n").into() }
    }

    /// More has happened than is sent.
    pub(super) fn missed(what: &str) -> Self {
        let data =
            json!({ "missed": what, "instead": format!("more {what} came at once than are sent here: ask the list") });
        Self { receipt: None, of: None, wire: format!("event: missed\ndata: {data}\n\n").into() }
    }

    /// The last of a stream whose reader was too slow.
    pub(super) fn cut(lost: u64) -> String {
        let data = json!({ "lost": lost, "instead": "read faster, or filter; connect again with Last-Event-ID" });
        format!("event: cut\ndata: {data}\n\n")
    }
}

fn of(source: &str, event_type: &str) -> Option<Arc<Of>> {
    Some(Arc::new(Of { source: source.to_owned(), event_type: event_type.to_owned() }))
}

impl Filter {
    /// Whether the stream wants it. What is about no single receipt goes to everybody.
    pub(super) fn wants(&self, event: &Event) -> bool {
        let Some(of) = &event.of else { return true };
        let is_type = |wanted: &String| {
            let rest = of.event_type.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.source.as_ref().is_none_or(|source| *source == of.source) && self.event_type.as_ref().is_none_or(is_type)
    }
}
