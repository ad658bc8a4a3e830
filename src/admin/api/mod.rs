//! `/api/v1`: thin handlers over the [`Desk`](crate::operate::Desk), one file a noun. `routes` lists them all.

mod answers;
mod body;
mod bulks;
mod conflicts;
mod deliveries;
mod events;
mod lanes;
mod openapi;
mod order;
mod overview;
mod path;
mod payload;
mod problem;
mod query;
mod reason;
mod receipts;
mod setup;

use actix_web::{FromRequest, Handler, Resource, Responder, ResponseError as _, web};

pub use self::{
    conflicts::ConflictTexts, events::Feed, openapi::describe, overview::Me, problem::Problem, receipts::LookedUp,
};

/// Everything at `/api/v1`. Give it the [`Desk`](crate::operate::Desk), the [`Admin`](super::Admin) and the [`Feed`] as data.
pub fn configure(config: &mut web::ServiceConfig) {
    let scope = web::scope("/api/v1")
        .configure(routes)
        .default_service(web::to(async || Problem::no_such_path().error_response()));
    config.service(scope);
}

fn routes(config: &mut web::ServiceConfig) {
    config
        .service(look("/receipts", receipts::list))
        .service(look("/receipts/{receipt}", receipts::show))
        .service(look("/receipts/{receipt}/payload", receipts::payload))
        .service(look("/receipts/{receipt}/why", receipts::why))
        .service(look("/receipts/{receipt}/arrivals", receipts::arrivals))
        .service(order("/receipts/{receipt}/replay", receipts::replay))
        .service(order("/receipts/{receipt}/release", receipts::release))
        .service(look("/look-up", receipts::look_up))
        .service(look("/deliveries", deliveries::list))
        .service(look("/deliveries/{delivery}", deliveries::show))
        .service(order("/deliveries/{delivery}/retry", deliveries::retry))
        .service(order("/deliveries/{delivery}/cancel", deliveries::cancel))
        .service(order("/deliveries/{delivery}/discard", deliveries::discard))
        .service(look("/attempts/{attempt}", deliveries::attempt))
        .service(look("/dead-letters", deliveries::dead_letters))
        .service(look("/dead-letters/groups", deliveries::groups))
        .service(look("/lanes", lanes::list))
        .service(order("/lanes/unblock", lanes::unblock))
        .service(look("/conflicts", conflicts::list))
        .service(look("/conflicts/{conflict}", conflicts::show))
        .service(look("/conflicts/{conflict}/payload", conflicts::payload))
        .service(order("/conflicts/{conflict}/promote", conflicts::promote))
        .service(look("/sources", setup::sources))
        .service(look("/sources/{source}", setup::source))
        .service(look("/routes", setup::routes))
        .service(order("/routes/{route}/pause", setup::pause_route))
        .service(order("/routes/{route}/resume", setup::resume_route))
        .service(look("/destinations", setup::destinations))
        .service(order("/destinations/{destination}/pause", setup::pause_destination))
        .service(order("/destinations/{destination}/resume", setup::resume_destination))
        .service(look("/pauses", setup::pauses))
        .service(
            with("/bulks", "GET, HEAD, POST")
                .route(web::get().to(bulks::list))
                .route(web::head().to(bulks::list))
                .route(web::post().to(bulks::begin)),
        )
        .service(look("/bulks/{bulk}", bulks::show))
        .service(order("/bulks/{bulk}/stop", bulks::stop))
        .service(look("/stats", overview::stats))
        .service(look("/audit", overview::audit))
        .service(look("/me", overview::me))
        .service(with("/events", "GET").route(web::get().to(events::events)))
        .service(look("/openapi.json", openapi::document));
}

/// A path that is looked at.
fn look<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    with(path, "GET, HEAD").route(web::get().to(handler.clone())).route(web::head().to(handler))
}

/// A path that takes orders.
fn order<F, Args>(path: &str, handler: F) -> Resource
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    with(path, "POST").route(web::post().to(handler))
}

/// A path that says which methods it takes.
fn with(path: &str, allow: &'static str) -> Resource {
    let refuse = move || std::future::ready(Problem::method(allow).error_response());
    web::resource(path).default_service(web::to(refuse))
}
