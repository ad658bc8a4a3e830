//! The operator's port: health and metrics now. Never takes webhooks, never takes a pool connection for health.

use std::{io, net::TcpListener, sync::Arc};

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::json;

use crate::{
    config,
    figures::Figures,
    health::Health,
    intake::{BoundServer, Budget, Tally},
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
}

/// Binds the port and makes the server.
///
/// # Errors
/// When the port cannot be bound.
pub fn bind(settings: &config::Admin, admin: Admin) -> io::Result<BoundServer> {
    let listener = TcpListener::bind(settings.listen)?;
    let address = listener.local_addr()?;
    let admin = web::Data::new(admin);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(admin.clone())
            .route("/livez", web::get().to(livez))
            .route("/readyz", web::get().to(readyz))
            .route("/metrics", web::get().to(metrics))
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
    let text = admin.tally.to_prometheus() + &admin.figures.to_prometheus() + &admin.budget.to_prometheus();
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(text)
}
