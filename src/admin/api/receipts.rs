//! Receipts.

use actix_web::{HttpResponse, http::StatusCode, web};

use super::{
    answers::{Finding, Looking, Ordering, Reading},
    order::{Order, instruction},
    path::In,
    payload::{self, Form, PayloadQuery},
    problem::Problem,
    query::{Nothing, Query},
    reason::{Reason, ReplayRequest},
};
use crate::{
    admin::auth::Signed,
    domain::ReceiptId,
    operate::{Desk, Found, Page, PayloadText, ReceiptQuery, Replayed, Why},
    store::{
        receipt_list::ReceiptLine,
        receipt_story::{LaterArrival, ReceiptStory},
    },
};

type Answer = Result<HttpResponse, Problem>;

/// Receipts that pass the filter, newest first
#[utoipa::path(get, path = "/receipts", tag = "receipts", operation_id = "list_receipts", params(ReceiptQuery),
    responses((status = 200, description = "A page of receipts", body = Page<ReceiptLine>), Looking))]
pub(super) async fn list(_: Signed, desk: web::Data<Desk>, query: Query<ReceiptQuery>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.receipts(&query.0).await?))
}

/// All that is known about a receipt
///
/// Its later arrivals, conflicts, deliveries and attempts. The payload is apart.
#[utoipa::path(get, path = "/receipts/{receipt}", tag = "receipts", operation_id = "get_receipt",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`")),
    responses((status = 200, description = "The receipt", body = ReceiptStory), Finding))]
pub(super) async fn show(_: Signed, desk: web::Data<Desk>, receipt: In<ReceiptId>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.receipt(receipt.0).await?))
}

/// What came in
///
/// As JSON, as the exact bytes (`format=raw`), or as a fixture (`format=http`: header lines, a blank line, the exact bytes).
#[utoipa::path(get, path = "/receipts/{receipt}/payload", tag = "receipts", operation_id = "get_receipt_payload",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`"), PayloadQuery),
    responses((status = 200, description = "The payload",
        content((PayloadText = "application/json"), (Vec<u8> = "application/octet-stream"))), Reading))]
pub(super) async fn payload(
    _: Signed,
    desk: web::Data<Desk>,
    receipt: In<ReceiptId>,
    query: Query<PayloadQuery>,
) -> Answer {
    let payload = desk.payload(receipt.0).await?;
    payload::respond(&payload, query.0.format.unwrap_or(Form::Json), &receipt.0.to_string())
}

/// Why a receipt went where it went
#[utoipa::path(get, path = "/receipts/{receipt}/why", tag = "receipts", operation_id = "explain_receipt",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`")),
    responses((status = 200, description = "The reasons", body = Why), Finding))]
pub(super) async fn why(_: Signed, desk: web::Data<Desk>, receipt: In<ReceiptId>, _: Query<Nothing>) -> Answer {
    Ok(HttpResponse::Ok().json(desk.why(receipt.0).await?))
}

/// The HTTP requests for a receipt, the first included
#[utoipa::path(get, path = "/receipts/{receipt}/arrivals", tag = "receipts", operation_id = "list_arrivals",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`")),
    responses((status = 200, description = "All of them, in order: the kind of the first is `first`",
        body = Page<LaterArrival>), Finding))]
pub(super) async fn arrivals(_: Signed, desk: web::Data<Desk>, receipt: In<ReceiptId>, _: Query<Nothing>) -> Answer {
    let story = desk.receipt(receipt.0).await?;
    let first = LaterArrival {
        kind: "first".to_owned(),
        arrived_at: story.facts.received_at,
        hook_id: story.facts.hook_id,
        remote_address: story.facts.remote_address,
        repeats: 0,
    };
    let items = std::iter::once(first).chain(story.later_arrivals).collect();
    Ok(HttpResponse::Ok().json(Page { items, next: None }))
}

/// Run a receipt again
///
/// All of its routes or one; also a receipt that matched no route when it came in.
#[utoipa::path(post, path = "/receipts/{receipt}/replay", tag = "receipts", operation_id = "replay_receipt",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`"), super::reason::IdempotencyKey),
    request_body = Option<ReplayRequest>,
    responses((status = 200, description = "What became of each delivery", body = Replayed), Ordering))]
pub(super) async fn replay(order: Order<ReplayRequest>, receipt: In<ReceiptId>, _: Query<Nothing>) -> Answer {
    let receipt = receipt.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.replay(receipt, body.route.as_ref(), instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// Let a held suspected replay go on its way
#[utoipa::path(post, path = "/receipts/{receipt}/release", tag = "receipts", operation_id = "release_receipt",
    params(("receipt" = ReceiptId, Path, description = "`rcp_…`"), super::reason::IdempotencyKey),
    request_body = Option<Reason>,
    responses((status = 200, description = "Its deliveries", body = Replayed), Ordering))]
pub(super) async fn release(order: Order<Reason>, receipt: In<ReceiptId>, _: Query<Nothing>) -> Answer {
    let receipt = receipt.0;
    order
        .carry_out(StatusCode::OK, async move |desk, body, by| {
            desk.release(receipt, instruction(by, body.reason.as_deref())?).await
        })
        .await
}

/// What is looked up.
#[derive(serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
#[derive(Default)]
pub(super) struct LookUpQuery {
    /// Our id of a receipt or a delivery, or the provider's own id.
    #[param(required = true, min_length = 1, max_length = 255)]
    id: String,
    /// Only of this source.
    source: Option<String>,
}

/// What an id led to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(tag = "found", rename_all = "lowercase")]
pub enum LookedUp {
    /// One receipt.
    Receipt {
        /// Its id.
        receipt: ReceiptId,
    },
    /// Several receipts, of other sources or hooks.
    Several {
        /// These.
        receipts: Vec<ReceiptLine>,
    },
    /// Nothing.
    Nothing,
}

/// From an id in hand to the receipt
#[utoipa::path(get, path = "/look-up", tag = "receipts", operation_id = "look_up", params(LookUpQuery),
    responses((status = 200, description = "What it led to", body = LookedUp), Looking))]
pub(super) async fn look_up(_: Signed, desk: web::Data<Desk>, query: Query<LookUpQuery>) -> Answer {
    let LookUpQuery { id, source } = query.0;
    if id.is_empty() || id.len() > 255 {
        return Err(Problem::invalid("id: write what you have in hand: rcp_…, dlv_…, or the provider's own id"));
    }
    let found = match desk.look_up(&id, source.as_deref()).await? {
        Found::Receipt(receipt) => LookedUp::Receipt { receipt },
        Found::Several(receipts) => LookedUp::Several { receipts },
        Found::Nothing => LookedUp::Nothing,
    };
    Ok(HttpResponse::Ok().json(found))
}
