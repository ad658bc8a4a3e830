//! Conflicts: other payloads under the delivery id of a receipt.

use actix_web::{HttpResponse, http::StatusCode, web};

use super::{
    answers::{Looking, Ordering, Reading},
    order::{Order, instruction},
    path::{ConflictNumber, In},
    payload::{self, Form},
    problem::Problem,
    query::{Nothing, Query},
    reason::{IdempotencyKey, Reason},
};
use crate::{
    admin::auth::Signed,
    operate::{ConflictLine, ConflictQuery, Desk, OperateError, Page, PayloadText, Replayed},
};

type Answer = Result<HttpResponse, Problem>;

/// One conflict with both payloads.
#[derive(Debug, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ConflictTexts {
    /// What is known about it.
    #[serde(flatten)]
    pub line: ConflictLine,
    /// What the first request had; null once its time is over.
    pub first: Option<PayloadText>,
    /// What this one has.
    pub other: PayloadText,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// What the first request had.
    First,
    /// What the conflict has.
    Other,
}

/// Which payload, in which form.
#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct SideQuery {
    /// By default other.
    side: Option<Side>,
    /// By default json.
    format: Option<Form>,
}

/// Conflicts, newest first
#[utoipa::path(get, path = "/conflicts", tag = "conflicts", operation_id = "list_conflicts", params(ConflictQuery),
    responses((status = 200, description = "A page of conflicts", body = Page<ConflictLine>), Looking))]
pub(super) async fn list(_: Signed, desk: web::Data<Desk>, query: Query<ConflictQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.conflicts(&query.0).await?))
}

/// One conflict with both payloads
#[utoipa::path(get, path = "/conflicts/{conflict}", tag = "conflicts", operation_id = "get_conflict",
    params(("conflict" = i64, Path, minimum = 0, description = "Its number")),
    responses((status = 200, description = "The conflict", body = ConflictTexts), Reading))]
pub(super) async fn show(_: Signed, desk: web::Data<Desk>, conflict: In<ConflictNumber>, _: Query<Nothing>) -> Answer {
    let story = desk.conflict(conflict.0.0).await?;
    let first = story.first.as_ref().map(payload::text_of).transpose()?;
    let other = payload::text_of(&story.other)?;
    Ok(HttpResponse::Ok().json(ConflictTexts { line: story.line, first, other }))
}

/// One of the two payloads
#[utoipa::path(get, path = "/conflicts/{conflict}/payload", tag = "conflicts", operation_id = "get_conflict_payload",
    params(("conflict" = i64, Path, minimum = 0, description = "Its number"), SideQuery),
    responses((status = 200, description = "The payload",
        content((PayloadText = "application/json"), (Vec<u8> = "application/octet-stream"))), Reading))]
pub(super) async fn payload(
    _: Signed,
    desk: web::Data<Desk>,
    conflict: In<ConflictNumber>,
    query: Query<SideQuery>,
) -> Answer {
    let number = conflict.0.0;
    let story = desk.conflict(number).await?;
    let (payload, name) = match query.0.side.unwrap_or(Side::Other) {
        Side::Other => (story.other, format!("conflict-{number}")),
        Side::First => (story.first.ok_or_else(gone)?, story.line.receipt.to_string()),
    };
    payload::respond(&payload, query.0.format.unwrap_or(Form::Json), &name)
}

fn gone() -> OperateError {
    OperateError::Refused {
        problem: "retention has deleted the first payload".to_owned(),
        instead: "ask for side=other, which is still there".to_owned(),
    }
}

/// Make a receipt of its own of a conflict's payload
#[utoipa::path(post, path = "/conflicts/{conflict}/promote", tag = "conflicts", operation_id = "promote_conflict",
    params(("conflict" = i64, Path, minimum = 0, description = "Its number"), IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "The new receipt and its deliveries", body = Replayed), Ordering))]
pub(super) async fn promote(order: Order<Reason>, conflict: In<ConflictNumber>, _: Query<Nothing>) -> Answer {
    let conflict = conflict.0.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.promote(conflict, instruction(by, body.reason.as_deref())?).await
        })
        .await
}
