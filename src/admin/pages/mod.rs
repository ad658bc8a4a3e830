//! The operator's pages: rendered here, working without JavaScript, one file a page.
//!
//! Each handler asks the desk and gives a template; what is changed goes through a page that asks first and a form that is answered with a redirect.
//!
//! Whatever came from outside is text to these pages: templates escape it, `pieces::line` and `payload` write out what cannot
//! be seen, and the content security policy allows no code but our one file.

mod answer;
mod audit;
mod bulks;
mod confirm;
mod conflicts;
mod dead_letters;
mod deliveries;
mod delivery_acts;
mod delivery_part;
mod destinations;
mod diff;
mod fields;
mod flash;
mod lanes;
mod login;
mod outcome;
mod overview;
mod overview_plots;
mod payload;
mod pieces;
mod plot;
mod receipt;
mod receipt_acts;
mod receipts;
mod search;
mod setup;
mod shell;
mod sources;
mod statics;
mod timeline;
mod trouble;
mod visit;

use actix_web::{HttpResponse, http::StatusCode, web};

use crate::admin::auth::FORM_BYTES_MAX;

pub use answer::refusal;
pub use login::{detour_page, login_page};

/// Adds the pages to the operator's port.
pub fn configure(config: &mut web::ServiceConfig) {
    config
        .app_data(web::PayloadConfig::new(FORM_BYTES_MAX))
        .route("/static/{version}/{name}", web::get().to(statics::serve))
        .route("/", web::get().to(overview::show))
        .route("/search", web::get().to(search::search))
        .route("/receipts", web::get().to(receipts::list))
        .route("/receipts/{id}", web::get().to(receipt::show))
        .route("/receipts/{id}/replay", web::get().to(receipt_acts::ask_replay))
        .route("/receipts/{id}/replay", web::post().to(receipt_acts::replay))
        .route("/receipts/{id}/release", web::get().to(receipt_acts::ask_release))
        .route("/receipts/{id}/release", web::post().to(receipt_acts::release))
        .route("/deliveries", web::get().to(deliveries::list))
        .route("/deliveries/{id}", web::get().to(deliveries::show))
        .route("/deliveries/{id}/{act}", web::get().to(delivery_acts::ask))
        .route("/deliveries/{id}/{act}", web::post().to(delivery_acts::act))
        .route("/lanes", web::get().to(lanes::list))
        .route("/lanes/unblock", web::get().to(lanes::ask_unblock))
        .route("/lanes/unblock", web::post().to(lanes::unblock))
        .route("/dead-letters", web::get().to(dead_letters::list))
        .route("/bulks", web::get().to(bulks::list))
        .route("/bulks", web::post().to(bulks::begin))
        .route("/bulks/new", web::get().to(bulks::ask))
        .route("/bulks/{id}", web::get().to(bulks::show))
        .route("/bulks/{id}/stop", web::get().to(bulks::ask_stop))
        .route("/bulks/{id}/stop", web::post().to(bulks::stop))
        .route("/conflicts", web::get().to(conflicts::list))
        .route("/conflicts/{id}", web::get().to(conflicts::show))
        .route("/conflicts/{id}/promote", web::get().to(conflicts::ask_promote))
        .route("/conflicts/{id}/promote", web::post().to(conflicts::promote))
        .route("/sources", web::get().to(sources::list))
        .route("/sources/{id}", web::get().to(sources::show))
        .route("/destinations", web::get().to(destinations::list))
        .route("/{kind:routes|destinations}/{id}/{act}", web::get().to(destinations::ask))
        .route("/{kind:routes|destinations}/{id}/{act}", web::post().to(destinations::act))
        .route("/audit", web::get().to(audit::list));
}

/// Any other address.
pub async fn not_found() -> HttpResponse {
    refusal(
        StatusCode::NOT_FOUND,
        "There is no such page",
        &["The address may be misspelt, or belong to another version.", "The overview leads everywhere."],
    )
}
