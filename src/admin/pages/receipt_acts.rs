//! What an operator does to a receipt: replay and release. First the question, then the deed.

use actix_web::{HttpResponse, web};

use super::{
    confirm::Confirm,
    fields::Fields,
    pieces::{count, line},
    shell::Here,
    visit::{Order, Visit},
};
use crate::{
    domain::{ReceiptId, RouteName},
    operate::{Desk, OperateError, Result},
};

/// Asks whether to replay, all of it or one route.
pub(super) async fn ask_replay(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let id: ReceiptId = visit.id("receipt")?;
        let story = desk.receipt(id).await?;
        let route = visit.fields.given("route").map(ToOwned::to_owned);
        let meant =
            story.deliveries.iter().filter(|delivery| route.as_ref().is_none_or(|route| *route == delivery.route));
        let items: Vec<String> = meant
            .map(|delivery| format!("{} → {}, now {}", delivery.route, delivery.destination, delivery.state))
            .collect();
        let number = count(i64::try_from(items.len()).unwrap_or(i64::MAX), "delivery", "deliveries");
        let button = match &route {
            Some(route) if items.is_empty() => format!("Send 1 receipt through {}", line(route)),
            Some(route) => format!("Replay 1 delivery of {}", line(route)),
            None if items.is_empty() => "Replay 1 receipt".to_owned(),
            None => format!("Replay {number}"),
        };
        let shell = visit.shell(format!("{button}?"), Here::Receipts);
        let what = format!(
            "{} {}: finished deliveries run once more, at the end of their lanes and with the same idempotency key; those under \
             way are left alone.",
            line(&story.facts.event_type),
            line(&story.facts.delivery_id)
        );
        let mut confirm =
            Confirm::new(shell, what, format!("/receipts/{id}/replay"), button).back(format!("/receipts/{id}"));
        confirm.sentences.push(match &route {
            Some(_) => "The named route takes it whether it matches today or not.".to_owned(),
            None => "A route that matches today and has no delivery gets one.".to_owned(),
        });
        confirm.items = items;
        if let Some(route) = route {
            confirm.hidden = Fields::default().with("route", route);
        }
        Ok(confirm)
    };
    visit.answer(page.await)
}

/// Replays.
pub(super) async fn replay(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let id: ReceiptId = order.id("receipt")?;
        let route = order.form.given("route").map(route_name).transpose()?;
        desk.replay(id, route.as_ref(), order.instruction()).await?;
        Ok(format!("/receipts/{id}?done=replayed"))
    };
    order.answer(done.await)
}

/// Asks whether to release.
pub(super) async fn ask_release(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let id: ReceiptId = visit.id("receipt")?;
        let story = desk.receipt(id).await?;
        let what = format!(
            "{} {} is held since its bytes came before under another delivery id. Released, it gets the deliveries that today's \
             routes ask for.",
            line(&story.facts.event_type),
            line(&story.facts.delivery_id)
        );
        let shell = visit.shell("Release 1 held receipt?", Here::Receipts);
        let confirm = Confirm::new(shell, what, format!("/receipts/{id}/release"), "Release 1 receipt");
        Ok(confirm.back(format!("/receipts/{id}")))
    };
    visit.answer(page.await)
}

/// Releases.
pub(super) async fn release(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let id: ReceiptId = order.id("receipt")?;
        desk.release(id, order.instruction()).await?;
        Ok(format!("/receipts/{id}?done=released"))
    };
    order.answer(done.await)
}

fn route_name(text: &str) -> Result<RouteName> {
    text.parse().map_err(|_| OperateError::NotFound { what: "route", name: text.chars().take(80).collect() })
}
