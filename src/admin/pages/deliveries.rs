//! `/deliveries`: what is on its way and how it ended; the filter is all in the address.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    fields::Fields,
    pieces::{Badge, Moment, line},
    receipts::Choices,
    shell::{Here, Shell},
    visit::Visit,
};
use crate::{
    domain::DeliveryRef,
    operate::{DeliveryQuery, Desk, Result},
    store::delivery_list::DeliveryLine,
};

/// The filter's fields.
pub(super) const FILTER: [&str; 11] =
    ["q", "state", "route", "destination", "source", "type", "ordering_key", "since", "until", "error", "group"];

/// One delivery in a list.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) receipt: String,
    pub(super) event_type: String,
    pub(super) delivery_id: String,
    pub(super) route: String,
    pub(super) destination: String,
    pub(super) ordering_key: Option<String>,
    pub(super) state: Badge,
    pub(super) attempts: i32,
    pub(super) error: Option<String>,
    /// When it ended, or when it is due.
    pub(super) at: Moment,
    pub(super) is_finished: bool,
}

#[derive(Template)]
#[template(path = "deliveries.html")]
struct Deliveries {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    choices: Choices,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
    bulk: Option<String>,
}

impl Row {
    /// Of a line of the list.
    pub(super) fn of(delivery: DeliveryLine) -> Self {
        Self {
            id: delivery.id.to_string(),
            receipt: delivery.receipt.to_string(),
            event_type: line(&delivery.event_type),
            delivery_id: line(&delivery.delivery_id),
            route: delivery.route,
            destination: delivery.destination,
            ordering_key: delivery.ordering_key.as_deref().map(line),
            state: Badge::of(delivery.state),
            attempts: delivery.attempts,
            error: delivery.last_error.as_deref().map(line),
            at: Moment::of(delivery.finished_at.unwrap_or(delivery.due_at)),
            is_finished: delivery.finished_at.is_some(),
        }
    }
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(deliveries(&desk, &visit).await)
}

async fn deliveries(desk: &Desk, visit: &Visit) -> Result<Deliveries> {
    let filter = visit.fields.only(&FILTER);
    let page = desk.deliveries(&visit.fields.read::<DeliveryQuery>()?).await?;
    Ok(Deliveries {
        shell: visit.shell("Deliveries", Here::Deliveries).marking(),
        is_filtered: !filter.is_empty(),
        choices: Choices::of(desk),
        bulk: (!filter.is_empty() && !page.items.is_empty()).then(|| filter.link("/bulks/new")),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/deliveries")),
        first: visit.fields.given("cursor").map(|_| filter.link("/deliveries")),
        filter,
    })
}

/// A delivery has no page of its own: it stands on its receipt's.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let place = async {
        let id: DeliveryRef = visit.id("delivery")?;
        Ok(format!("/receipts/{}#{id}", desk.delivery(id).await?.receipt))
    };
    match place.await {
        Ok(place) => super::answer::see(&place),
        Err(error) => super::answer::failure(visit.shell("", Here::Nowhere), &error),
    }
}
