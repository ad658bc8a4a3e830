//! The `http` destination: takes a parcel, posts it once, gives how that ended. Never follows a redirect, never sends
//! twice, never reads more of an answer than is kept.

mod body;
mod headers;

use std::{error::Error as _, sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{Client, Request, Response, header};
use tokio::time::Sleep;

use self::body::{OutgoingBody, Progress};
use super::{
    Parcel,
    outcome::{self, Answered, Ending},
};
use crate::{
    clock::Clock,
    config::HttpDestination,
    domain::{ANSWER_KEPT_BYTES, Answer, Outcome},
};

/// Who we say we are.
const USER_AGENT: &str = concat!("oncehook/", env!("CARGO_PKG_VERSION"));

/// Connections kept open for the next delivery.
const IDLE_CONNECTIONS_MAX: usize = 16;

/// How long an idle connection is kept: less than the 5 s after which common servers (Node.js, actix-web) close theirs.
/// A request that crosses such a close is lost with an unknown outcome, and delivered twice.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// Header lines of an answer. One with more is no answer.
const ANSWER_HEADERS_MAX: usize = 100;

/// The longest part of a `Location` that is shown.
const LOCATION_LENGTH_MAX: usize = 200;

/// One HTTP service with its connections.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    settings: HttpDestination,
    clock: Clock,
}

impl Http {
    /// Builds the client. The error is a sentence for the operator.
    pub(super) fn new(settings: HttpDestination, clock: Clock) -> Result<Self, String> {
        let client = build_client(&settings).map_err(|error| {
            format!(
                "cannot prepare HTTPS: {}; if no certificate authorities are installed, install them (Debian: apt-get \
                 install ca-certificates)",
                innermost(&error)
            )
        })?;
        Ok(Self { client, settings, clock })
    }

    /// Makes one attempt.
    pub(super) async fn post(&self, parcel: &Parcel) -> Outcome {
        let (body, progress) = OutgoingBody::new(parcel.body.clone());
        let headers = headers::of_attempt(parcel, self.settings.secret.as_ref(), self.clock.now());
        let request = self.client.post(self.settings.url.clone()).headers(headers).body(reqwest::Body::wrap(body));
        let request = match request.build() {
            Ok(request) => request,
            Err(error) => return outcome::not_sent(&format!("could not be made a request: {}", innermost(&error))),
        };
        let overdue = tokio::time::sleep(self.settings.timeout);
        tokio::pin!(overdue);
        match self.send(request, &progress, overdue.as_mut()).await {
            Ok(response) => self.read_answer(response, overdue.as_mut()).await,
            Err(outcome) => outcome,
        }
    }

    /// Sends the request and waits for the head of the answer.
    async fn send(
        &self,
        request: Request,
        progress: &Arc<Progress>,
        overdue: std::pin::Pin<&mut Sleep>,
    ) -> Result<Response, Outcome> {
        let silence = async {
            progress.all_sent().await;
            tokio::time::sleep(self.settings.first_byte_timeout).await;
        };
        tokio::select! {
            biased;
            answer = self.client.execute(request) => answer.map_err(|error| self.unanswered(&error, progress)),
            () = silence => {
                let limit = self.settings.first_byte_timeout;
                Err(outcome::not_answered(&format!("was sent to {}, which did not answer within {limit:?}", self.place())))
            }
            () = overdue => {
                let limit = self.settings.timeout;
                Err(if progress.has_begun() {
                    outcome::not_answered(&format!("was not answered by {} within {limit:?}", self.place()))
                } else {
                    outcome::not_sent(&format!("found no connection to {} within {limit:?}", self.place()))
                })
            }
        }
    }

    /// Classes a request that ended without the head of an answer, by whether the destination may have it.
    fn unanswered(&self, error: &reqwest::Error, progress: &Progress) -> Outcome {
        let (place, cause) = (self.place(), innermost(error));
        if error.is_connect() && error.is_timeout() {
            let limit = self.settings.connect_timeout;
            return outcome::not_sent(&format!("found no connection to {place} within {limit:?}"));
        }
        if error.is_connect() || !progress.has_begun() {
            return outcome::not_sent(&format!("could not connect to {place}: {cause}"));
        }
        outcome::not_answered(&format!("was sent to {place}, but the answer was lost or is not HTTP: {cause}"))
    }

    /// Reads as much of the answer as is kept, and leaves the rest: dropping the response closes its connection.
    async fn read_answer(&self, mut response: Response, mut overdue: std::pin::Pin<&mut Sleep>) -> Outcome {
        let (mut body, mut is_cut) = (Vec::new(), false);
        let ending = loop {
            let piece = tokio::select! {
                biased;
                piece = response.chunk() => piece,
                () = overdue.as_mut() => break Ending::Late(self.settings.timeout),
            };
            match piece {
                Ok(Some(piece)) => {
                    let room = ANSWER_KEPT_BYTES - body.len();
                    body.extend_from_slice(&piece[..piece.len().min(room)]);
                    is_cut = piece.len() > room;
                    if is_cut {
                        break Ending::Read;
                    }
                }
                Ok(None) => break Ending::Read,
                Err(error) => break Ending::Lost(innermost(&error)),
            }
        };
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let answered = Answered {
            answer: Answer { status: status.as_u16(), body: Bytes::from(body), is_cut },
            status_text: status
                .canonical_reason()
                .map_or(status.as_str().to_owned(), |name| format!("{} {name}", status.as_str())),
            location: status.is_redirection().then(|| self.location(&response)).flatten(),
            retry_after: retry_after.and_then(|value| outcome::read_retry_after(value.as_bytes(), self.clock.now())),
            ending,
        };
        outcome::of_answer(answered, &self.settings.retry_statuses)
    }

    /// Where the destination is, for people: without path, query and credentials, any of which may hold a token.
    fn place(&self) -> String {
        self.settings.url.origin().ascii_serialization()
    }

    /// Where a redirect points, without its query and credentials.
    fn location(&self, response: &Response) -> Option<String> {
        let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
        let target = self.settings.url.join(location).ok()?;
        let shown = format!("{}{}", target.origin().ascii_serialization(), target.path());
        Some(shown.chars().take(LOCATION_LENGTH_MAX).collect())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that builds the client")]
fn build_client(settings: &HttpDestination) -> reqwest::Result<Client> {
    let client = Client::builder()
        .user_agent(USER_AGENT)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .http1_only()
        .http1_max_headers(ANSWER_HEADERS_MAX)
        .connect_timeout(settings.connect_timeout)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .pool_idle_timeout(IDLE_MAX);
    // A destination without TLS must work on a machine without certificate authorities, where loading them fails.
    if settings.url.scheme() == "https" { client.build() } else { client.tls_certs_only([]).build() }
}

/// The cause beneath all wrappings, which is the part that tells an operator something.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = None;
    while let Some(error) = cause {
        text = Some(error.to_string());
        cause = error.source();
    }
    text.unwrap_or_else(|| "the request failed".to_owned())
}
