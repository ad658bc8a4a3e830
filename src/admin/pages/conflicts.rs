//! `/conflicts`: other payloads that came under a receipt's delivery id; one side by side with the first; and promoting one.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    confirm::Confirm,
    diff::{Comparison, compare},
    fields::Fields,
    pieces::{Moment, line, size},
    receipts::Choices,
    shell::{Here, Shell},
    visit::{Order, Visit},
};
use crate::operate::{ConflictLine, ConflictQuery, Desk, Result};

const FILTER: [&str; 3] = ["source", "delivery_id", "promoted"];

struct Row {
    number: i64,
    receipt: String,
    source: String,
    delivery_id: String,
    event_type: String,
    arrived: Moment,
    size: String,
    digest: String,
    promoted: Option<(String, Option<Moment>)>,
}

#[derive(Template)]
#[template(path = "conflicts.html")]
struct Conflicts {
    shell: Shell,
    filter: Fields,
    is_filtered: bool,
    choices: Choices,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
}

#[derive(Template)]
#[template(path = "conflict.html")]
struct Conflict {
    shell: Shell,
    row: Row,
    comparison: Option<Comparison>,
}

impl Row {
    fn of(conflict: ConflictLine) -> Self {
        Self {
            number: conflict.conflict,
            receipt: conflict.receipt.to_string(),
            source: conflict.source,
            delivery_id: line(&conflict.delivery_id),
            event_type: line(&conflict.event_type),
            arrived: Moment::exact(conflict.arrived_at),
            size: size(i64::from(conflict.body_bytes)),
            digest: conflict.body_digest,
            promoted: conflict.promoted_to.map(|receipt| (receipt.to_string(), conflict.promoted_at.map(Moment::of))),
        }
    }
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(conflicts(&desk, &visit).await)
}

async fn conflicts(desk: &Desk, visit: &Visit) -> Result<Conflicts> {
    let filter = visit.fields.only(&FILTER);
    let page = desk.conflicts(&visit.fields.read::<ConflictQuery>()?).await?;
    Ok(Conflicts {
        shell: visit.shell("Conflicts", Here::Conflicts).marking(),
        is_filtered: !filter.is_empty(),
        choices: Choices::of(desk),
        rows: page.items.into_iter().map(Row::of).collect(),
        next: page.next.map(|next| filter.clone().with("cursor", next).link("/conflicts")),
        first: visit.fields.given("cursor").map(|_| filter.link("/conflicts")),
        filter,
    })
}

/// Shows one.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let story = desk.conflict(visit.id("conflict")?).await?;
        let comparison = story.first.as_ref().map(|first| compare(&first.body, &story.other.body));
        let shell = visit.shell(format!("Conflict {}", story.line.conflict), Here::Conflicts);
        Ok(Conflict { shell, row: Row::of(story.line), comparison })
    };
    visit.answer(page.await)
}

/// Asks whether to promote it.
pub(super) async fn ask_promote(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let conflict = desk.conflict(visit.id("conflict")?).await?.line;
        let shell = visit.shell("Promote 1 conflict?", Here::Conflicts);
        let what = format!(
            "Its payload ({} of {}) becomes a receipt of its own, marked as promoted, and goes through the routes of today. The \
             first receipt and its deliveries stay as they are.",
            size(i64::from(conflict.body_bytes)),
            line(&conflict.event_type)
        );
        let number = conflict.conflict;
        let confirm = Confirm::new(shell, what, format!("/conflicts/{number}/promote"), "Promote 1 conflict");
        Ok(confirm.back(format!("/conflicts/{number}")))
    };
    visit.answer(page.await)
}

/// Promotes it.
pub(super) async fn promote(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let made = desk.promote(order.id("conflict")?, order.instruction()).await?;
        Ok(format!("/receipts/{}?done=promoted", made.receipt))
    };
    order.answer(done.await)
}
