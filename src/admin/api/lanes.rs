//! Lanes.

use actix_web::{HttpResponse, http::StatusCode, web};

use super::{
    answers::{Looking, Ordering},
    order::{Order, instruction},
    problem::Problem,
    query::{Nothing, Query},
    reason::{IdempotencyKey, UnblockRequest},
};
use crate::{
    admin::auth::Signed,
    operate::{Changed, Desk, LaneQuery, Page},
    store::lane_list::LaneLine,
};

type Answer = Result<HttpResponse, Problem>;

/// Lanes, those that have been open the longest first
#[utoipa::path(get, path = "/lanes", tag = "lanes", operation_id = "list_lanes", params(LaneQuery),
    responses((status = 200, description = "A page of lanes", body = Page<LaneLine>), Looking))]
pub(super) async fn list(_: Signed, desk: web::Data<Desk>, query: Query<LaneQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.lanes(&query.0).await?))
}

/// Let a blocked lane go on behind its dead delivery, which stays dead
#[utoipa::path(post, path = "/lanes/unblock", tag = "lanes", operation_id = "unblock_lane", params(IdempotencyKey),
    request_body = UnblockRequest,
    responses((status = 200, description = "Done", body = Changed), Ordering))]
pub(super) async fn unblock(order: Order<UnblockRequest>, _: Query<Nothing>) -> Answer {
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.unblock_lane(&body.lane(), instruction(by, body.reason.as_deref())?).await
        })
        .await
}
