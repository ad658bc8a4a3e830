//! What happens now, as server-sent events: receipts that come in, deliveries that are tried, bulks that get on. For watching;
//! the lists stay the truth.

mod event;
mod feed;
mod look;
mod stream;

use actix_web::{HttpRequest, HttpResponse, http::header, web};

pub use self::feed::Feed;
use self::{event::Filter, stream::Resume};
use super::{answers::Looking, problem::Problem, query::Query};
use crate::{admin::auth::Signed, domain::ReceiptId, operate::Desk};

/// Which events.
#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct EventQuery {
    /// Only of this source.
    source: Option<String>,
    /// Only of this event type, or one below it.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    event_type: Option<String>,
    /// Begins behind this receipt, with those that have come in since; as the header `Last-Event-ID`, which goes first.
    after: Option<ReceiptId>,
}

/// What happens now, as server-sent events
///
/// `receipt` (with an id to resume at), `delivery` (each time it is tried, and what came of it) and `bulk`; `missed` where more
/// happened at once than is sent, and `cut` before the end of a stream whose reader was too slow. A comment comes every 15 seconds.
/// A stream ends after an hour: connect again, with `Last-Event-ID`.
#[utoipa::path(get, path = "/events", tag = "live", operation_id = "watch_events",
    params(EventQuery, ("Last-Event-ID" = Option<ReceiptId>, Header, description = "The receipt to resume behind")),
    responses((status = 200, description = "Events, each with data in JSON", body = String,
        content_type = "text/event-stream"), Looking))]
pub(super) async fn events(
    _: Signed,
    desk: web::Data<Desk>,
    feed: web::Data<Feed>,
    request: HttpRequest,
    query: Query<EventQuery>,
) -> Result<HttpResponse, Problem> {
    let EventQuery { source, event_type, after } = query.0;
    let after = last_event_id(&request)?.or(after);
    let listening =
        feed.listen().ok_or_else(|| Problem::busy("too many streams are open: close one, or ask the lists"))?;
    let resume = after.map(|after| Resume { desk: desk.get_ref().clone(), after });
    let events = stream::stream(listening, Filter { source, event_type }, resume);
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        // Proxies would hold events back.
        .insert_header((header::HeaderName::from_static("x-accel-buffering"), "no"))
        .streaming(events))
}

fn last_event_id(request: &HttpRequest) -> Result<Option<ReceiptId>, Problem> {
    let Some(value) = request.headers().get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let id = value.to_str().ok().and_then(|text| text.parse().ok());
    let refused = || Problem::invalid("Last-Event-ID: send the id of a receipt, rcp_…, or leave it out");
    id.map(Some).ok_or_else(refused)
}
