//! The operator's port: the API, the pages, health and metrics, and who may see them. Never takes webhooks, never takes a pool connection
//! for health.

pub mod api;
pub mod auth;
pub mod pages;

use std::{io, net::TcpListener, sync::Arc};

use actix_web::{App, HttpResponse, HttpServer, middleware::from_fn, web};
use serde_json::json;

use self::auth::Access;
use crate::{
    clock::Clock,
    config,
    figures::Figures,
    health::Health,
    intake::{BoundServer, Budget, Tally},
    operate::Desk,
};

/// Threads for the operator's port: it serves people and probes.
const THREADS: usize = 1;

/// Requests under way are few and short; none is waited for longer than this at shutdown.
const SHUTDOWN_SECONDS: u64 = 1;

/// What the handlers work with.
#[derive(Clone)]
pub struct Admin {
    /// What is known of this process and its database.
    pub health: Health,
    /// Counts of answers on the intake port.
    pub tally: Arc<Tally>,
    /// How long answers and deliveries took.
    pub figures: Figures,
    /// Bytes of bodies in memory.
    pub budget: Budget,
    /// Where operators' questions and orders are dealt with.
    pub desk: Desk,
    /// The time, for people.
    pub clock: Clock,
    /// Who may use it.
    pub access: Access,
}

/// Binds the port and makes the server.
///
/// # Errors
/// When the port cannot be bound, or everybody would be let in from other machines.
pub fn bind(settings: &config::Admin, admin: Admin) -> io::Result<BoundServer> {
    if settings.no_auth
        && let Some(problem) = settings.why_not_without_auth()
    {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    let listener = TcpListener::bind(settings.listen)?;
    let address = listener.local_addr()?;
    let desk = web::Data::new(admin.desk.clone());
    let feed = web::Data::new(api::Feed::new(admin.desk.clone()));
    let access = web::Data::new(admin.access.clone());
    let admin = web::Data::new(admin);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(admin.clone())
            .app_data(desk.clone())
            .app_data(feed.clone())
            .app_data(access.clone())
            .app_data(web::FormConfig::default().limit(auth::FORM_BYTES_MAX))
            // The last is the outermost: the guard's own answers have the headers too.
            .wrap(from_fn(auth::guard))
            .wrap(from_fn(auth::headers))
            .configure(auth::routes)
            .route("/livez", web::get().to(livez))
            .route("/readyz", web::get().to(readyz))
            .route("/metrics", web::get().to(metrics))
            .configure(api::configure)
            .configure(pages::configure)
            .default_service(web::to(pages::not_found))
    })
    .workers(THREADS)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(BoundServer::new(server, address))
}

/// The process lives. It does not ask the database: a restart of this process would not bring that back.
async fn livez() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "alive" }))
}

/// New webhooks can be stored.
async fn readyz(admin: web::Data<Admin>) -> HttpResponse {
    match admin.health.why_not_ready() {
        None => HttpResponse::Ok().json(json!({ "status": "ready" })),
        Some(reason) => HttpResponse::ServiceUnavailable().json(json!({ "status": "not ready", "reason": reason })),
    }
}

/// Prometheus text.
async fn metrics(admin: web::Data<Admin>) -> HttpResponse {
    let (tally, figures) = (admin.tally.to_prometheus(), admin.figures.to_prometheus());
    let text = tally + &figures + &admin.budget.to_prometheus() + &admin.access.to_prometheus();
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text)
}
