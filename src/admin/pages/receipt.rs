//! `/receipts/{id}`: what happened to it and what to do now; then everything that is known, down to the bytes.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    delivery_part::DeliveryPart,
    diff::{Comparison, compare},
    outcome::{Outcome, outcomes},
    payload::{Shown, pretty, raw},
    pieces::{Badge, Moment, line, size},
    shell::{Here, Shell},
    timeline::{Entry, timeline},
    visit::Visit,
};
use crate::{
    cli::redaction::shown_headers,
    domain::ReceiptId,
    operate::{Desk, OperateError, Result, Why},
    store::receipt_story::{Payload, ReceiptFacts, ReceiptStory},
};

/// Conflicts that are compared on the receipt's own page: each has a page of its own too.
const COMPARED_MAX: usize = 2;

/// One fact with its name.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) at: Option<Moment>,
}

/// One request for it.
struct ArrivalRow {
    kind: Badge,
    at: Moment,
    from: String,
    hook: String,
    repeats: i32,
}

/// Another payload under its delivery id.
struct ConflictPart {
    number: i64,
    at: Moment,
    event_type: String,
    size: String,
    digest: String,
    comparison: Option<Comparison>,
}

struct PayloadPart {
    headers: Vec<(String, String)>,
    shown: Shown,
    raw: String,
    size: String,
}

#[derive(Template)]
#[template(path = "receipt.html")]
struct Receipt {
    shell: Shell,
    id: String,
    source: String,
    event_type: String,
    delivery_id: String,
    received: Moment,
    is_held: bool,
    outcomes: Vec<Outcome>,
    flags: Vec<String>,
    facts: Vec<Fact>,
    arrivals: Vec<ArrivalRow>,
    conflicts: Vec<ConflictPart>,
    deliveries: Vec<DeliveryPart>,
    routes: Vec<String>,
    entries: Vec<Entry>,
    why: Option<Why>,
    payload: Option<PayloadPart>,
    gone: Option<String>,
}

/// Shows it.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    visit.answer(receipt(&desk, &visit).await)
}

async fn receipt(desk: &Desk, visit: &Visit) -> Result<Receipt> {
    let id: ReceiptId = visit.id("receipt")?;
    let story = desk.receipt(id).await?;
    let (payload, gone) = match desk.payload(id).await {
        Ok(payload) => (Some(payload), None),
        Err(OperateError::Refused { problem, .. }) => (None, Some(problem)),
        Err(error) => return Err(error),
    };
    let why = Some(desk.why(id).await?);
    let is_held = is_held(&story);
    let is_settled = story.deliveries.iter().all(|delivery| delivery.state.is_finished());
    let shell = visit.shell(format!("{} {id}", line(&story.facts.event_type)), Here::Receipts);
    let body = payload.as_ref().map(|payload| payload.body.as_slice());
    Ok(Receipt {
        shell: if is_settled { shell.marking() } else { shell.renewing(5) },
        id: id.to_string(),
        source: story.facts.source.clone(),
        event_type: line(&story.facts.event_type),
        delivery_id: line(&story.facts.delivery_id),
        received: Moment::exact(story.facts.received_at),
        is_held,
        outcomes: outcomes(&story, is_held),
        flags: story.facts.flags.iter().map(|flag| line(flag)).collect(),
        facts: facts(&story.facts),
        arrivals: arrivals(&story),
        conflicts: conflicts(desk, &story, body).await?,
        deliveries: story.deliveries.iter().map(|delivery| DeliveryPart::of(desk, &story.facts, delivery)).collect(),
        routes: other_routes(desk, &story),
        entries: timeline(&story),
        why,
        payload: payload.map(part),
        gone,
    })
}

/// Held receipts have no deliveries, and say so in a remark until they are released.
fn is_held(story: &ReceiptStory) -> bool {
    story.deliveries.is_empty() && story.facts.flags.iter().any(|flag| flag.starts_with("held"))
}

/// Routes of its source that have no delivery: each can be asked to take it after all.
fn other_routes(desk: &Desk, story: &ReceiptStory) -> Vec<String> {
    let live = desk.live.load_full();
    let routes = live.config.routes.iter().filter(|route| route.source.as_str() == story.facts.source);
    let names = routes.map(|route| route.name.to_string());
    names.filter(|name| story.deliveries.iter().all(|delivery| delivery.route != *name)).collect()
}

fn facts(facts: &ReceiptFacts) -> Vec<Fact> {
    let text = |name, value: String| Fact { name, value, at: None };
    let time = |name, at| Fact { name, value: String::new(), at: Some(Moment::exact(at)) };
    let mut told = vec![text("delivery id", line(&facts.delivery_id)), text("source", facts.source.clone())];
    told.push(text("event type", line(&facts.event_type)));
    told.extend(facts.hook_id.as_deref().map(|hook| text("hook id", line(hook))));
    told.extend(facts.ordering_key.as_deref().map(|key| text("ordering key", line(key))));
    told.extend(facts.version.as_ref().map(|version| text("version", line(&version.to_string()))));
    told.extend(facts.event_time.map(|at| time("event time", at)));
    told.extend(facts.signed_at.map(|at| time("signed at", at)));
    told.push(time("received", facts.received_at));
    told.push(time("recorded", facts.recorded_at));
    let secret = facts.secret_fingerprint.as_deref().map(|print| format!("fingerprint {print}"));
    told.push(text("secret", secret.unwrap_or_else(|| "none: the source takes unsigned requests".to_owned())));
    told.extend(facts.remote_address.as_deref().map(|from| text("from", line(from))));
    told.push(text("size", size(i64::from(facts.body_bytes))));
    told.push(text("SHA-256", facts.body_digest.clone()));
    if facts.normalised_digest != facts.body_digest {
        told.push(text("SHA-256 of what stays the same", facts.normalised_digest.clone()));
    }
    told
}

fn arrivals(story: &ReceiptStory) -> Vec<ArrivalRow> {
    let written = |text: &Option<String>| text.as_deref().map(line).unwrap_or_default();
    let first = ArrivalRow {
        kind: Badge { tone: "good", word: "first" },
        at: Moment::exact(story.facts.received_at),
        from: written(&story.facts.remote_address),
        hook: written(&story.facts.hook_id),
        repeats: 0,
    };
    let later = story.later_arrivals.iter().map(|arrival| ArrivalRow {
        kind: match arrival.kind.as_str() {
            "conflict" => Badge { tone: "warn", word: "conflict" },
            _ => Badge { tone: "idle", word: "duplicate" },
        },
        at: Moment::exact(arrival.arrived_at),
        from: written(&arrival.remote_address),
        hook: written(&arrival.hook_id),
        repeats: arrival.repeats,
    });
    std::iter::once(first).chain(later).collect()
}

async fn conflicts(desk: &Desk, story: &ReceiptStory, first: Option<&[u8]>) -> Result<Vec<ConflictPart>> {
    let mut parts = Vec::with_capacity(story.conflicts.len());
    for (place, conflict) in story.conflicts.iter().enumerate() {
        let comparison = match first {
            Some(first) if place < COMPARED_MAX => {
                Some(compare(first, &desk.conflict(conflict.conflict).await?.other.body))
            }
            _ => None,
        };
        parts.push(ConflictPart {
            number: conflict.conflict,
            at: Moment::exact(conflict.arrived_at),
            event_type: line(&conflict.event_type),
            size: size(i64::from(conflict.body_bytes)),
            digest: conflict.body_digest.clone(),
            comparison,
        });
    }
    Ok(parts)
}

fn part(payload: Payload) -> PayloadPart {
    PayloadPart {
        headers: shown_headers(&payload.headers),
        shown: pretty(&payload.body),
        raw: raw(&payload.body),
        size: size(i64::try_from(payload.body.len()).unwrap_or(i64::MAX)),
    }
}
