//! How the appliance is set up: sources, routes, destinations, and what of that is paused.

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
    domain::{DestinationName, RouteName, SourceName},
    operate::{Changed, Desk, DestinationLine, Page, Pausable, Paused, RouteLine, SourceLine},
};

type Answer = Result<HttpResponse, Problem>;

/// A list that has one page.
fn all<T: serde::Serialize>(items: Vec<T>) -> Answer {
    Ok(HttpResponse::Ok().json(Page { items, next: None }))
}

/// All sources of the configuration, by name
#[utoipa::path(get, path = "/sources", tag = "setup", operation_id = "list_sources",
    responses((status = 200, description = "All of them", body = Page<SourceLine>), Looking))]
pub(super) async fn sources(_: Signed, desk: web::Data<Desk>, _: Query<Nothing>) -> Answer {
    all(desk.sources().await?)
}

/// One source
#[utoipa::path(get, path = "/sources/{source}", tag = "setup", operation_id = "get_source",
    params(("source" = String, Path, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", description = "Its name")),
    responses((status = 200, description = "The source", body = SourceLine), Finding))]
pub(super) async fn source(_: Signed, desk: web::Data<Desk>, source: In<SourceName>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.source(source.0.as_str()).await?))
}

/// All routes of the configuration, as written
#[utoipa::path(get, path = "/routes", tag = "setup", operation_id = "list_routes",
    responses((status = 200, description = "All of them", body = Page<RouteLine>), Looking))]
pub(super) async fn routes(_: Signed, desk: web::Data<Desk>, _: Query<Nothing>) -> Answer {
    all(desk.routes().await?)
}

/// All destinations of the configuration, by name
#[utoipa::path(get, path = "/destinations", tag = "setup", operation_id = "list_destinations",
    responses((status = 200, description = "All of them", body = Page<DestinationLine>), Looking))]
pub(super) async fn destinations(_: Signed, desk: web::Data<Desk>, _: Query<Nothing>) -> Answer {
    all(desk.destinations().await?)
}

/// What is paused
#[utoipa::path(get, path = "/pauses", tag = "setup", operation_id = "list_pauses",
    responses((status = 200, description = "All pauses", body = Page<Paused>), Looking))]
pub(super) async fn pauses(_: Signed, desk: web::Data<Desk>, _: Query<Nothing>) -> Answer {
    all(desk.pauses().await?)
}

async fn pause(order: Order<Reason>, kind: Pausable, name: String) -> Answer {
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.pause(kind, &name, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

async fn resume(order: Order<Reason>, kind: Pausable, name: String) -> Answer {
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.resume(kind, &name, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// Pause a route: its deliveries wait, in order
#[utoipa::path(post, path = "/routes/{route}/pause", tag = "setup", operation_id = "pause_route",
    params(("route" = String, Path, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", description = "Its name"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn pause_route(order: Order<Reason>, name: In<RouteName>, _: Query<Nothing>) -> Answer {
    pause(order, Pausable::Route, name.0.to_string()).await
}

/// End the pause of a route
#[utoipa::path(post, path = "/routes/{route}/resume", tag = "setup", operation_id = "resume_route",
    params(("route" = String, Path, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", description = "Its name"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn resume_route(order: Order<Reason>, name: In<RouteName>, _: Query<Nothing>) -> Answer {
    resume(order, Pausable::Route, name.0.to_string()).await
}

/// Pause a destination: deliveries to it wait, of whatever route
#[utoipa::path(post, path = "/destinations/{destination}/pause", tag = "setup", operation_id = "pause_destination",
    params(("destination" = String, Path, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", description = "Its name"),
        IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn pause_destination(order: Order<Reason>, name: In<DestinationName>, _: Query<Nothing>) -> Answer {
    pause(order, Pausable::Destination, name.0.to_string()).await
}

/// End the pause of a destination
#[utoipa::path(post, path = "/destinations/{destination}/resume", tag = "setup", operation_id = "resume_destination",
    params(("destination" = String, Path, pattern = "^[a-z0-9][a-z0-9_-]{0,63}$", description = "Its name"),
        IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn resume_destination(order: Order<Reason>, name: In<DestinationName>, _: Query<Nothing>) -> Answer {
    resume(order, Pausable::Destination, name.0.to_string()).await
}
