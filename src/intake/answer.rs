//! Answers to requests that were recorded. An operator reads them in the provider's dashboard: they say what happened and
//! which receipt to look for.

use actix_web::{HttpResponse, http::StatusCode};
use serde_json::json;

use super::tally::Turnout;
use crate::{
    config::Source,
    domain::{Arrival, DeliveryId, EventType, NewReceipt, SeenBefore},
};

/// Deliveries listed in an answer; providers keep the first few hundred bytes of it.
const DELIVERIES_LISTED_MAX: usize = 5;

/// What the answer needs of a receipt that has gone into the recorder.
pub(super) struct Summary {
    delivery_id: DeliveryId,
    event_type: EventType,
    deliveries: usize,
}

impl Summary {
    pub(super) fn of(new: &NewReceipt) -> Self {
        Self {
            delivery_id: new.delivery_id.clone(),
            event_type: new.event_type.clone(),
            deliveries: new.deliveries.len(),
        }
    }
}

/// A recorded request.
pub(super) struct Answered {
    pub summary: Summary,
    pub arrival: Arrival,
}

impl Answered {
    /// What it counts as.
    pub(super) fn turnout(&self) -> Turnout {
        match self.arrival {
            Arrival::First { .. } => Turnout::Accepted,
            Arrival::Duplicate(_) => Turnout::Duplicate,
            Arrival::Conflict(_) => Turnout::Conflict,
        }
    }

    /// The answer.
    pub(super) fn respond(&self, source: &Source) -> HttpResponse {
        match &self.arrival {
            Arrival::First { receipt } => HttpResponse::Ok().json(json!({
                "status": "accepted",
                "receipt": receipt,
                "delivery_id": self.summary.delivery_id,
                "event_type": self.summary.event_type,
                "deliveries": self.summary.deliveries,
            })),
            Arrival::Duplicate(seen) => HttpResponse::Ok().json(duplicate(seen)),
            Arrival::Conflict(seen) => conflict(source, seen),
        }
    }
}

fn duplicate(seen: &SeenBefore) -> serde_json::Value {
    let listed: Vec<_> = seen
        .deliveries
        .iter()
        .take(DELIVERIES_LISTED_MAX)
        .map(|(route, _, state)| json!({ "route": route, "state": state }))
        .collect();
    json!({
        "status": "duplicate",
        "receipt": seen.receipt,
        "first_received_at": seen.first_received_at,
        "deliveries": listed,
    })
}

fn conflict(source: &Source, seen: &SeenBefore) -> HttpResponse {
    let status = StatusCode::from_u16(source.conflict_status).unwrap_or(StatusCode::CONFLICT);
    HttpResponse::build(status).json(json!({
        "status": "conflict",
        "receipt": seen.receipt,
        "first_received_at": seen.first_received_at,
        "detail": "this delivery id came before with another payload; both are kept, this one is not run",
    }))
}
