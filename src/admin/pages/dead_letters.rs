//! `/dead-letters`: what will not be tried again by itself, grouped by what it died of; whole groups or single ones can be
//! retried, replayed or discarded.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    deliveries::{FILTER, Row},
    fields::Fields,
    pieces::{Moment, count, grouped, line},
    receipts::Choices,
    shell::{Here, Shell},
    visit::Visit,
};
use crate::{
    domain::DeliveryState,
    operate::{DeadLetterGroup, DeliveryQuery, Desk, Result},
};

struct Group {
    route: String,
    destination: String,
    error: String,
    number: String,
    counted: String,
    first: Moment,
    last: Moment,
    show: String,
    /// Where its bulk begins, ready for an action.
    bulk: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct DeadLetters {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    choices: Choices,
    groups: Vec<Group>,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(dead_letters(&desk, &visit).await)
}

async fn dead_letters(desk: &Desk, visit: &Visit) -> Result<DeadLetters> {
    let filter = visit.fields.only(&FILTER).with("state", "").only(&FILTER);
    let query: DeliveryQuery = visit.fields.read()?;
    let query = DeliveryQuery { state: Some(DeliveryState::Dead), ..query };
    // The groups are what one chooses from: the chosen one does not make the others go away.
    let groups = desk.dead_letter_groups(&DeliveryQuery { group: None, cursor: None, ..query.clone() }).await?;
    let page = desk.deliveries(&query).await?;
    Ok(DeadLetters {
        shell: visit.shell("Dead letters", Here::DeadLetters).marking(),
        is_filtered: !filter.is_empty(),
        choices: Choices::of(desk),
        groups: groups.into_iter().map(|group| Group::of(group, &filter)).collect(),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/dead-letters")),
        first: visit.fields.given("cursor").map(|_| filter.link("/dead-letters")),
        filter,
    })
}

impl Group {
    fn of(group: DeadLetterGroup, filter: &Fields) -> Self {
        let chosen = filter.clone().with("group", &group.group);
        Self {
            is_chosen: filter.is("group", &group.group),
            show: chosen.link("/dead-letters"),
            bulk: chosen.with("state", "dead").link("/bulks/new"),
            route: group.route,
            destination: group.destination,
            error: line(&group.error),
            number: grouped(group.count),
            counted: count(group.count, "dead letter", "dead letters"),
            first: Moment::of(group.first_at),
            last: Moment::of(group.last_at),
        }
    }
}
