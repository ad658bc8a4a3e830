//! Binds the public port and runs the HTTP server on it. Never sees a body.

use std::{io, net::SocketAddr, net::TcpListener, time::Duration};

use actix_web::{App, HttpServer, dev::ServerHandle, web};

use super::{Intake, problem::Problem, receive};
use crate::config::Intake as Limits;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept for the next request.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The server, bound and not yet running.
pub struct IntakeServer {
    server: actix_web::dev::Server,
    address: SocketAddr,
}

/// Binds the port and makes the server. It accepts from now on, and answers once [`IntakeServer::run`] is polled.
///
/// # Errors
/// When the port cannot be bound.
pub fn bind(limits: &Limits, intake: Intake, grace: Duration) -> io::Result<IntakeServer> {
    let listener = TcpListener::bind(limits.listen)?;
    let address = listener.local_addr()?;
    let intake = web::Data::new(intake);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(intake.clone())
            .service(
                // No slash at the end and no other normalisation: a redirect would lose the body.
                web::resource("/hooks/{source}")
                    .route(web::post().to(receive))
                    .default_service(web::to(async || actix_web::HttpResponse::from(Problem::not_a_post()))),
            )
            .default_service(web::to(async || actix_web::HttpResponse::from(Problem::no_such_path())))
    })
    .workers(limits.threads)
    .max_connections((limits.connections_max / limits.threads.max(1)).max(1))
    .client_request_timeout(HEAD_TIMEOUT)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(grace.as_secs())
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(IntakeServer { server, address })
}

impl IntakeServer {
    /// Where it listens: the real port if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// To stop it from elsewhere: gracefully, requests under way are answered first.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Serves until stopped.
    ///
    /// # Errors
    /// When accepting fails for good.
    pub async fn run(self) -> io::Result<()> {
        self.server.await
    }
}
