//! `/receipts`: every receipt that passes the filter, which is all in the address, so that a link keeps a search.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    fields::Fields,
    pieces::{Badge, Moment, line},
    shell::{Here, Shell},
    visit::Visit,
};
use crate::{
    domain::DeliveryState,
    operate::{Desk, ReceiptQuery, Result},
    store::receipt_list::ReceiptLine,
};

/// The filter's fields.
pub(super) const FILTER: [&str; 15] = [
    "q",
    "source",
    "type",
    "delivery_id",
    "ordering_key",
    "state",
    "route",
    "destination",
    "since",
    "until",
    "path",
    "value",
    "flag",
    "held",
    "unmatched",
];

/// One receipt in the list.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) received: Moment,
    pub(super) source: String,
    pub(super) event_type: String,
    pub(super) delivery_id: String,
    pub(super) arrivals: i64,
    pub(super) states: Vec<Badge>,
    pub(super) flags: Vec<String>,
}

#[derive(Template)]
#[template(path = "receipts.html")]
struct Receipts {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    /// Whether one of the rarer fields is in use, so that the form shows them.
    is_detailed: bool,
    choices: Choices,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

/// What the filter's lists offer.
pub(super) struct Choices {
    pub(super) sources: Vec<String>,
    pub(super) routes: Vec<String>,
    pub(super) destinations: Vec<String>,
    pub(super) states: [DeliveryState; 8],
}

impl Choices {
    /// The names of the configuration.
    pub(super) fn of(desk: &Desk) -> Self {
        let live = desk.live.load_full();
        Self {
            sources: live.config.sources.keys().map(ToString::to_string).collect(),
            routes: live.config.routes.iter().map(|route| route.name.to_string()).collect(),
            destinations: live.known_destinations.clone(),
            states: DeliveryState::ALL,
        }
    }
}

impl Row {
    /// Of a line of the list.
    pub(super) fn of(receipt: ReceiptLine) -> Self {
        Self {
            id: receipt.id.to_string(),
            received: Moment::of(receipt.received_at),
            source: receipt.source,
            event_type: line(&receipt.event_type),
            delivery_id: line(&receipt.delivery_id),
            arrivals: receipt.arrivals,
            states: receipt.deliveries.into_iter().map(Badge::of).collect(),
            flags: receipt.flags.iter().map(|flag| line(flag)).collect(),
        }
    }
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(receipts(&desk, &visit).await)
}

async fn receipts(desk: &Desk, visit: &Visit) -> Result<Receipts> {
    let filter = visit.fields.only(&FILTER);
    let page = desk.receipts(&visit.fields.read::<ReceiptQuery>()?).await?;
    let rare = ["ordering_key", "route", "destination", "path", "value", "flag", "held", "unmatched", "delivery_id"];
    Ok(Receipts {
        shell: visit.shell("Receipts", Here::Receipts).marking(),
        is_filtered: !filter.is_empty(),
        is_detailed: rare.iter().any(|name| filter.given(name).is_some()),
        choices: Choices::of(desk),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/receipts")),
        first: visit.fields.given("cursor").map(|_| filter.link("/receipts")),
        filter,
    })
}
