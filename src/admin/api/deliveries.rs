//! Deliveries, their attempts, and the dead letters among them.

use actix_web::{HttpResponse, http::StatusCode, web};

use super::{
    answers::{Finding, Looking, Ordering},
    order::{Order, instruction},
    path::In,
    problem::Problem,
    query::{Nothing, Query},
    reason::{IdempotencyKey, Reason},
};
use crate::{
    admin::auth::Signed,
    domain::{AttemptId, DeliveryRef, DeliveryState},
    operate::{Changed, DeadLetterGroup, DeliveryQuery, Desk, FoundDelivery, Page},
    store::{delivery_list::DeliveryLine, delivery_story::AttemptFacts},
};

type Answer = Result<HttpResponse, Problem>;

/// Deliveries that pass the filter, newest first
#[utoipa::path(get, path = "/deliveries", tag = "deliveries", operation_id = "list_deliveries", params(DeliveryQuery),
    responses((status = 200, description = "A page of deliveries", body = Page<DeliveryLine>), Looking))]
pub(super) async fn list(_: Signed, desk: web::Data<Desk>, query: Query<DeliveryQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.deliveries(&query.0).await?))
}

/// One delivery with all that was tried
#[utoipa::path(get, path = "/deliveries/{delivery}", tag = "deliveries", operation_id = "get_delivery",
    params(("delivery" = DeliveryRef, Path, description = "`dlv_…`")),
    responses((status = 200, description = "The delivery", body = FoundDelivery), Finding))]
pub(super) async fn show(_: Signed, desk: web::Data<Desk>, delivery: In<DeliveryRef>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.delivery(delivery.0).await?))
}

/// One attempt
#[utoipa::path(get, path = "/attempts/{attempt}", tag = "deliveries", operation_id = "get_attempt",
    params(("attempt" = AttemptId, Path, description = "`att_…`")),
    responses((status = 200, description = "The attempt", body = AttemptFacts), Finding))]
pub(super) async fn attempt(_: Signed, desk: web::Data<Desk>, attempt: In<AttemptId>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.attempt(attempt.0).await?))
}

/// Dead letters that pass the filter, newest first
#[utoipa::path(get, path = "/dead-letters", tag = "dead letters", operation_id = "list_dead_letters",
    params(DeliveryQuery),
    responses((status = 200, description = "A page of dead deliveries", body = Page<DeliveryLine>), Looking))]
pub(super) async fn dead_letters(_: Signed, desk: web::Data<Desk>, query: Query<DeliveryQuery>) -> Answer {
    let query = only_dead(query.0)?;
    Ok(HttpResponse::Ok().json(desk.deliveries(&query).await?))
}

/// Dead letters by what they died of, the largest group first
#[utoipa::path(get, path = "/dead-letters/groups", tag = "dead letters", operation_id = "group_dead_letters",
    params(DeliveryQuery),
    responses((status = 200, description = "All groups", body = Page<DeadLetterGroup>), Looking))]
pub(super) async fn groups(_: Signed, desk: web::Data<Desk>, query: Query<DeliveryQuery>) -> Answer {
    let items = desk.dead_letter_groups(&only_dead(query.0)?).await?;
    Ok(HttpResponse::Ok().json(Page { items, next: None }))
}

fn only_dead(query: DeliveryQuery) -> Result<DeliveryQuery, Problem> {
    match query.state {
        None | Some(DeliveryState::Dead) => Ok(DeliveryQuery { state: Some(DeliveryState::Dead), ..query }),
        Some(other) => Err(Problem::invalid(format!("state: dead letters are dead, not {other}: ask /deliveries"))),
    }
}

/// Ask for a dead or cancelled delivery once more
#[utoipa::path(post, path = "/deliveries/{delivery}/retry", tag = "deliveries", operation_id = "retry_delivery",
    params(("delivery" = DeliveryRef, Path, description = "`dlv_…`"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn retry(order: Order<Reason>, delivery: In<DeliveryRef>, _: Query<Nothing>) -> Answer {
    let delivery = delivery.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.retry(delivery, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// Call off a delivery that is waiting, queued or retrying
#[utoipa::path(post, path = "/deliveries/{delivery}/cancel", tag = "deliveries", operation_id = "cancel_delivery",
    params(("delivery" = DeliveryRef, Path, description = "`dlv_…`"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn cancel(order: Order<Reason>, delivery: In<DeliveryRef>, _: Query<Nothing>) -> Answer {
    let delivery = delivery.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.cancel(delivery, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// Take a delivery off the dead letters
#[utoipa::path(post, path = "/deliveries/{delivery}/discard", tag = "deliveries", operation_id = "discard_delivery",
    params(("delivery" = DeliveryRef, Path, description = "`dlv_…`"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn discard(order: Order<Reason>, delivery: In<DeliveryRef>, _: Query<Nothing>) -> Answer {
    let delivery = delivery.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.discard(delivery, instruction(by, body.reason.as_deref())?).await
        })
        .await
}
