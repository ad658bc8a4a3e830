//! Binds the public port and runs the HTTP server on it. Never sees a body.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use actix_web::{App, HttpResponse, HttpServer, dev::Server, web};

use super::{Intake, command::look, problem::Problem, receive};
use crate::{config::Intake as Limits, shutdown::Shutdown};

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept for the next request.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// An HTTP server that has its port and waits to be run.
pub struct BoundServer {
    server: Server,
    address: SocketAddr,
}

impl BoundServer {
    pub(crate) fn new(server: Server, address: SocketAddr) -> Self {
        Self { server, address }
    }

    /// Where it listens: the real port if 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until shutdown begins, then answers what is under way and ends.
    ///
    /// # Errors
    /// When accepting fails for good.
    pub async fn run(self, mut shutdown: Shutdown) -> io::Result<()> {
        let handle = self.server.handle();
        let mut served = self.server;
        tokio::select! {
            result = &mut served => return result,
            () = shutdown.begun() => {}
        }
        // The server must be polled for the stop to take effect, hence both at once.
        let (result, ()) = tokio::join!(served, handle.stop(true));
        result
    }
}

/// Binds the port. The server accepts from now on and answers once it is run; at shutdown, requests under way get `grace`.
///
/// # Errors
/// When the port cannot be bound.
pub fn bind(limits: &Limits, intake: Intake, grace: Duration) -> io::Result<BoundServer> {
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
                    .default_service(web::to(async || HttpResponse::from(Problem::not_a_post()))),
            )
            .service(
                web::resource("/hooks/{source}/{receipt}")
                    .route(web::get().to(look))
                    .default_service(web::to(async || HttpResponse::from(Problem::no_such_path()))),
            )
            .default_service(web::to(async || HttpResponse::from(Problem::no_such_path())))
    })
    .workers(limits.threads)
    .max_connections((limits.connections_max / limits.threads.max(1)).max(1))
    .client_request_timeout(HEAD_TIMEOUT)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(grace.as_secs())
    .disable_signals()
    .listen(listener)?
    .run();
    Ok(BoundServer::new(server, address))
}
