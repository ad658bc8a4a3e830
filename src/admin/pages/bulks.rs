//! `/bulks`: the same done to many deliveries. Counted and confirmed first; then a page that shows how far it is.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    confirm::Confirm,
    deliveries::FILTER,
    fields::Fields,
    pieces::{Badge, Moment, count, grouped, line},
    shell::{Here, Shell},
    visit::{Order, Visit},
};
use crate::operate::{BulkAction, BulkProgress, BulkRequest, BulkState, Desk, OperateError, PageRequest, Result};

/// One bulk.
struct Bulk {
    id: String,
    title: String,
    state: Badge,
    is_running: bool,
    total: i64,
    met: i64,
    counted: String,
    changed: String,
    left_alone: String,
    by: String,
    reason: Option<String>,
    began: Moment,
    ended: Option<Moment>,
}

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkPage {
    shell: Shell,
    bulk: Bulk,
}

#[derive(Template)]
#[template(path = "bulks.html")]
struct BulksPage {
    shell: Shell,
    bulks: Vec<Bulk>,
    next: Option<String>,
    first: Option<String>,
}

impl Bulk {
    fn of(bulk: BulkProgress) -> Self {
        let state = match bulk.state {
            BulkState::Running => Badge { tone: "busy", word: "running" },
            BulkState::Done => Badge { tone: "good", word: "done" },
            BulkState::Stopped => Badge { tone: "idle", word: "stopped" },
        };
        Self {
            title: format!("{} {}", verb(bulk.action), counted_as(bulk.action, bulk.total)),
            state,
            is_running: bulk.state == BulkState::Running,
            total: bulk.total.max(1),
            met: bulk.met,
            counted: format!("{} of {}", grouped(bulk.met), grouped(bulk.total)),
            changed: grouped(bulk.changed),
            left_alone: grouped(bulk.met - bulk.changed),
            by: line(&bulk.by),
            reason: bulk.reason.as_deref().map(line),
            began: Moment::of(bulk.began_at),
            ended: bulk.ended_at.map(Moment::of),
            id: bulk.bulk,
        }
    }
}

fn verb(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Retry => "Retry",
        BulkAction::Replay => "Replay",
        BulkAction::Discard => "Discard",
        BulkAction::Cancel => "Cancel",
    }
}

/// How the many are called. What is discarded is dead letters and nothing else.
fn counted_as(action: BulkAction, number: i64) -> String {
    match action {
        BulkAction::Discard => count(number, "dead letter", "dead letters"),
        _ => count(number, "delivery", "deliveries"),
    }
}

fn means(action: BulkAction) -> &'static str {
    match action {
        BulkAction::Retry => {
            "Each runs once more with the same idempotency key, at the end of its lane, or at the head of one that it blocks."
        }
        BulkAction::Replay => "Each finished one runs once more with the same idempotency key, at the end of its lane.",
        BulkAction::Discard => {
            "Each is taken off the dead letters and becomes cancelled, with your reason. Lanes that wait for one of them go on."
        }
        BulkAction::Cancel => "Each that has not begun is not run any more. Those that run now are left alone.",
    }
}

fn request_of(fields: &Fields) -> Result<BulkRequest> {
    let action = match fields.value("action") {
        "retry" => BulkAction::Retry,
        "replay" => BulkAction::Replay,
        "discard" => BulkAction::Discard,
        "cancel" => BulkAction::Cancel,
        other => {
            return Err(OperateError::Invalid {
                field: "action",
                problem: format!("{:?} cannot be done to many", line(other)),
                instead: "use retry, replay, discard or cancel".to_owned(),
            });
        }
    };
    Ok(BulkRequest {
        action,
        filter: fields.only(&FILTER).read()?,
        only: fields.all("only"),
        expect: fields.given("expect").and_then(|number| number.parse().ok()),
        reason: fields.given("reason").map(ToOwned::to_owned),
    })
}

/// A form without a tick and without a condition means all there are, which nobody means by pressing a button below
/// ticks.
fn nothing_ticked(fields: &Fields) -> Option<OperateError> {
    let is_empty = fields.only(&FILTER).is_empty() && fields.all("only").is_empty();
    is_empty.then(|| OperateError::Refused {
        problem: "Nothing was ticked.".to_owned(),
        instead: "Go back, tick the deliveries that you mean, and press the button again.".to_owned(),
    })
}

/// Counts, and asks.
pub(super) async fn ask(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let request = request_of(&visit.fields)?;
        if let Some(refusal) = nothing_ticked(&visit.fields) {
            return Err(refusal);
        }
        let found = desk.count_bulk(&request).await?;
        let what = counted_as(request.action, found.count);
        let button = format!("{} {what}", verb(request.action));
        let shell = visit.shell(format!("{button}?"), Here::DeadLetters);
        let mut confirm = Confirm::new(shell, means(request.action), "/bulks", button).back("/dead-letters");
        let conditions = visit.fields.only(&FILTER);
        for (name, value) in conditions.iter() {
            confirm.sentences.push(format!("Only those with {}: {}", name.replace('_', " "), line(value)));
        }
        if found.count == 0 {
            confirm.sentences =
                vec!["None stands where this can be done any more: others have moved on by themselves.".to_owned()];
            confirm.may = false;
        } else {
            confirm.sentences.push("If there are more by the time you press the button, nothing is done.".to_owned());
        }
        confirm.items = found.samples;
        confirm.hidden = hidden(&visit.fields, found.count);
        let is_discard = request.action == BulkAction::Discard;
        Ok(if is_discard || request.action == BulkAction::Cancel { confirm.dangerous() } else { confirm })
    };
    visit.answer(page.await)
}

fn hidden(fields: &Fields, count: i64) -> Fields {
    let mut names = FILTER.to_vec();
    names.extend(["action", "only"]);
    fields.only(&names).with("expect", count.to_string())
}

/// Begins.
pub(super) async fn begin(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let request = request_of(&order.form)?;
        if let Some(refusal) = nothing_ticked(&order.form) {
            return Err(refusal);
        }
        let bulk = desk.begin_bulk(&request, order.instruction()).await?;
        Ok(format!("/bulks/{}?done=began", bulk.bulk))
    };
    order.answer(done.await)
}

/// Shows how far it is.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let bulk = Bulk::of(desk.bulk(visit.part("id")).await?);
        let shell = visit.shell(bulk.title.clone(), Here::DeadLetters);
        Ok(BulkPage { shell: if bulk.is_running { shell.renewing(2) } else { shell }, bulk })
    };
    visit.answer(page.await)
}

/// Shows them all.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let page = desk.bulks(&visit.fields.read::<PageRequest>()?).await?;
        Ok(BulksPage {
            shell: visit.shell("Bulks", Here::DeadLetters),
            bulks: page.items.into_iter().map(Bulk::of).collect(),
            next: page.next.map(|next| Fields::default().with("cursor", next).link("/bulks")),
            first: visit.fields.given("cursor").map(|_| "/bulks".to_owned()),
        })
    };
    visit.answer(page.await)
}

/// Asks whether to stop it.
pub(super) async fn ask_stop(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let bulk = Bulk::of(desk.bulk(visit.part("id")).await?);
        let shell = visit.shell("Stop 1 bulk?", Here::DeadLetters);
        let what = format!("{}: {} were met so far. What was done stays done.", bulk.title, bulk.counted);
        let confirm = Confirm::new(shell, what, format!("/bulks/{}/stop", bulk.id), "Stop 1 bulk");
        Ok(Confirm { tone: "danger", ..confirm.back(format!("/bulks/{}", bulk.id)) })
    };
    visit.answer(page.await)
}

/// Stops it.
pub(super) async fn stop(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let bulk = desk.stop_bulk(order.part("id"), order.instruction()).await?;
        Ok(format!("/bulks/{}?done=stopped", bulk.bulk))
    };
    order.answer(done.await)
}
