//! `/lanes`: which deliveries wait for one another, what stands at each head, and what blocks it; and letting one go on.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    confirm::Confirm,
    fields::Fields,
    pieces::{Badge, Moment, counted, line},
    receipts::Choices,
    shell::{Here, Shell},
    visit::{Order, Visit},
};
use crate::{
    domain::{LaneKey, OrderingKey},
    operate::{Desk, LaneQuery, OperateError, Result},
    store::lane_list::{COUNTED_MAX, LaneLine},
};

const FILTER: [&str; 3] = ["route", "ordering_key", "blocked"];

struct Row {
    route: String,
    ordering_key: String,
    length: String,
    opened: Moment,
    head: Option<(String, Badge)>,
    blocked: Option<(String, Option<Moment>)>,
    /// Where it can be let go on.
    unblock: String,
    /// Its deliveries.
    deliveries: String,
}

#[derive(Template)]
#[template(path = "lanes.html")]
struct Lanes {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    choices: Choices,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

impl Row {
    fn of(lane: LaneLine) -> Self {
        let key = Fields::default().with("route", &lane.route).with("ordering_key", &lane.ordering_key);
        Self {
            unblock: key.link("/lanes/unblock"),
            deliveries: key.link("/deliveries"),
            route: lane.route,
            ordering_key: line(&lane.ordering_key),
            length: counted(lane.unfinished, COUNTED_MAX),
            opened: Moment::of(lane.opened_at),
            head: lane.head.zip(lane.head_state).map(|(head, state)| (head.to_string(), Badge::of(state))),
            blocked: lane.blocked_by.map(|dead| (dead.to_string(), lane.blocked_since.map(Moment::of))),
        }
    }
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(lanes(&desk, &visit).await)
}

async fn lanes(desk: &Desk, visit: &Visit) -> Result<Lanes> {
    let filter = visit.fields.only(&FILTER);
    let page = desk.lanes(&visit.fields.read::<LaneQuery>()?).await?;
    Ok(Lanes {
        shell: visit.shell("Lanes", Here::Lanes).marking(),
        is_filtered: !filter.is_empty(),
        choices: Choices::of(desk),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/lanes")),
        first: visit.fields.given("cursor").map(|_| filter.link("/lanes")),
        filter,
    })
}

/// Asks whether a blocked lane should go on.
pub(super) async fn ask_unblock(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let lane = lane_of(&visit.fields)?;
        let query = LaneQuery {
            route: Some(lane.route.to_string()),
            ordering_key: Some(lane.ordering_key.to_string()),
            ..LaneQuery::default()
        };
        let waiting = desk.lanes(&query).await?.items.first().map_or(0, |lane| lane.unfinished);
        let number = counted(waiting, COUNTED_MAX);
        let button = format!("Unblock 1 lane with {number} waiting");
        let shell = visit.shell("Unblock 1 lane?", Here::Lanes);
        let what = format!(
            "The lane {} of {} goes on behind its dead delivery, in order: {number} waiting. The dead delivery stays a dead letter.",
            line(lane.ordering_key.as_str()),
            lane.route
        );
        let mut confirm = Confirm::new(shell, what, "/lanes/unblock", button).back("/lanes?blocked=true");
        confirm
            .sentences
            .push("If the destination needs them in unbroken order, retry the dead delivery instead.".to_owned());
        confirm.hidden =
            Fields::default().with("route", lane.route.as_str()).with("ordering_key", lane.ordering_key.as_str());
        Ok(confirm)
    };
    visit.answer(page.await)
}

/// Lets it go on.
pub(super) async fn unblock(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        desk.unblock_lane(&lane_of(&order.form)?, order.instruction()).await?;
        Ok("/lanes?done=unblocked".to_owned())
    };
    order.answer(done.await)
}

fn lane_of(fields: &Fields) -> Result<LaneKey> {
    let route = fields.value("route");
    let unknown = || OperateError::NotFound { what: "route", name: route.chars().take(80).collect() };
    Ok(LaneKey {
        route: route.parse().map_err(|_| unknown())?,
        ordering_key: OrderingKey::new(fields.value("ordering_key")),
    })
}
