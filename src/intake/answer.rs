//! Answers to requests that were recorded. An operator reads them in the provider's dashboard: they say what happened and
//! which receipt to look for.

use std::borrow::Cow;

use actix_web::{HttpResponse, http::StatusCode};
use serde::Serialize;
use serde_json::json;

use super::tally::Turnout;
use crate::{
    config::Source,
    domain::{Arrival, CallerName, DeliveryId, EventType, NewReceipt, Purpose, ReceiptId, SeenBefore, Standing},
};

/// The longest answer: providers show the first few hundred bytes, and half a sentence helps nobody.
const ANSWER_BYTES_MAX: usize = 300;

/// Room for what stands behind the list of deliveries: how many more there are.
const MORE_BYTES: usize = 24;

/// The longest text of a request that is repeated in an answer; the sender knows the rest.
const QUOTED_LENGTH_MAX: usize = 64;

/// What the answer needs of a receipt that has gone into the recorder.
pub(super) struct Summary {
    delivery_id: DeliveryId,
    event_type: EventType,
    deliveries: usize,
    /// Who sent it, if it is a command.
    pub(super) caller: Option<CallerName>,
}

/// What a sender is told about an event that is stored.
#[derive(Serialize)]
pub(super) struct Accepted<'s> {
    status: &'static str,
    receipt: ReceiptId,
    delivery_id: Cow<'s, str>,
    event_type: Cow<'s, str>,
    deliveries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'static str>,
}

/// What a sender is told of a suspected replay that is held; who reads it knows where operators look.
const HELD: &str = "suspected replay: an operator must release it";

impl Summary {
    pub(super) fn of(new: &NewReceipt, caller: Option<CallerName>) -> Self {
        Self {
            delivery_id: new.delivery_id.clone(),
            event_type: new.event_type.clone(),
            deliveries: new.deliveries.len(),
            caller,
        }
    }

    /// The answer to the first request for `receipt`.
    pub(super) fn accepted(&self, receipt: ReceiptId) -> Accepted<'_> {
        self.accepted_with(receipt, self.deliveries)
    }

    /// The same, repeated when the routes may be others: with the deliveries that there were.
    pub(super) fn accepted_with(&self, receipt: ReceiptId, deliveries: usize) -> Accepted<'_> {
        Accepted {
            status: "accepted",
            receipt,
            delivery_id: quoted(self.delivery_id.as_str()),
            event_type: quoted(self.event_type.as_str()),
            deliveries,
            held: None,
        }
    }

    /// The answer to the first request for `receipt`, which is held.
    fn held(&self, receipt: ReceiptId) -> Accepted<'_> {
        Accepted { held: Some(HELD), ..self.accepted_with(receipt, 0) }
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
            Arrival::First { .. } | Arrival::Held { .. } => Turnout::Accepted,
            Arrival::Duplicate(_) => Turnout::Duplicate,
            Arrival::Conflict(_) => Turnout::Conflict,
            Arrival::Replay { .. } => Turnout::Replay,
        }
    }

    /// The answer.
    pub(super) fn respond(&self, source: &Source) -> HttpResponse {
        match &self.arrival {
            Arrival::First { receipt } => HttpResponse::Ok().json(self.summary.accepted(*receipt)),
            Arrival::Held { receipt } => HttpResponse::Ok().json(self.summary.held(*receipt)),
            Arrival::Duplicate(seen) => HttpResponse::Ok().json(duplicate(seen)),
            Arrival::Conflict(seen) => conflict(source, seen),
            Arrival::Replay { earlier } => HttpResponse::Conflict().json(json!({
                "status": "suspected_replay",
                "receipt": earlier,
                "detail": "the same bytes came before under another delivery id; nothing of this request is kept. To take it, set \
                           replay_guard = \"flag\" on the source",
            })),
        }
    }
}

fn quoted(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED_LENGTH_MAX) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// Lists as many deliveries as there is room for, and says how many it left out.
fn duplicate(seen: &SeenBefore) -> serde_json::Value {
    let mut answer = json!({
        "status": "duplicate",
        "receipt": seen.receipt,
        "first_received_at": seen.first_received_at,
        "deliveries": [],
    });
    if seen.is_held {
        answer["held"] = json!(HELD);
    }
    let mut room = ANSWER_BYTES_MAX.saturating_sub(answer.to_string().len() + MORE_BYTES);
    let mut listed = Vec::new();
    for Standing { route, purpose, state, is_revived, .. } in &seen.deliveries {
        let mut delivery = json!({ "route": route, "state": state });
        if *is_revived {
            delivery["revived"] = json!(true);
        }
        if *purpose == Purpose::Compensate {
            delivery["purpose"] = json!(purpose);
        }
        let with_comma = delivery.to_string().len() + 1;
        if with_comma > room {
            answer["more_deliveries"] = json!(seen.deliveries.len() - listed.len());
            break;
        }
        room -= with_comma;
        listed.push(delivery);
    }
    answer["deliveries"] = json!(listed);
    answer
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
