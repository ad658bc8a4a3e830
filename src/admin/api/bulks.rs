//! Bulks: the same done to many deliveries.

use actix_web::{HttpResponse, http::StatusCode, web};

use super::{
    answers::{Finding, Looking, Ordering},
    order::{Order, instruction},
    path::{BulkId, In},
    problem::Problem,
    query::{Nothing, Query},
    reason::{IdempotencyKey, Reason},
};
use crate::{
    admin::auth::Signed,
    operate::{BulkCount, BulkProgress, BulkRequest, Desk, Page, PageRequest},
};

type Answer = Result<HttpResponse, Problem>;

/// Whether it is only counted.
#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct DryRun {
    /// Counts what the bulk would meet, and changes nothing; no Idempotency-Key is needed.
    dry_run: Option<bool>,
}

/// Bulks, newest first
#[utoipa::path(get, path = "/bulks", tag = "bulks", operation_id = "list_bulks", params(PageRequest),
    responses((status = 200, description = "A page of bulks", body = Page<BulkProgress>), Looking))]
pub(super) async fn list(_: Signed, desk: web::Data<Desk>, query: Query<PageRequest>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.bulks(&query.0).await?))
}

/// How far a bulk is
#[utoipa::path(get, path = "/bulks/{bulk}", tag = "bulks", operation_id = "get_bulk",
    params(("bulk" = String, Path, format = "uuid", description = "Its id")),
    responses((status = 200, description = "The bulk", body = BulkProgress), Finding))]
pub(super) async fn show(_: Signed, desk: web::Data<Desk>, bulk: In<BulkId>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.bulk(&bulk.0.0).await?))
}

/// Do the same to all deliveries that pass a filter
///
/// Count first (`dry_run=true`), and give the count as `expect`: if there are more by then, nothing is done.
#[utoipa::path(post, path = "/bulks", tag = "bulks", operation_id = "begin_bulk", params(DryRun, IdempotencyKey),
    request_body = BulkRequest,
    responses((status = 202, description = "It has begun: ask /bulks/{bulk} how far it is", body = BulkProgress),
        (status = 200, description = "The dry run's count", body = BulkCount), Ordering))]
pub(super) async fn begin(order: Order<BulkRequest>, query: Query<DryRun>) -> Answer {
    if query.0.dry_run == Some(true) {
        let (desk, request) = order.ask();
        return Ok(HttpResponse::Ok().json(desk.count_bulk(&request).await?));
    }
    order
        .carry_out(StatusCode::ACCEPTED, async move |desk, body, by| {
            desk.begin_bulk(&body, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// Stop a bulk where it is: what it has done stays done
#[utoipa::path(post, path = "/bulks/{bulk}/stop", tag = "bulks", operation_id = "stop_bulk",
    params(("bulk" = String, Path, format = "uuid", description = "Its id"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Where it stopped", body = BulkProgress), Ordering))]
pub(super) async fn stop(order: Order<Reason>, bulk: In<BulkId>, _: Query<Nothing>) -> Answer {
    let bulk = bulk.0.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.stop_bulk(&bulk, instruction(by, body.reason.as_deref())?).await
        })
        .await
}
