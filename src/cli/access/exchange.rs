//! Sending one request until there is an answer that counts: after a lost connection, and where the appliance says "not now". A few
//! times, with growing waits.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Method, Response, StatusCode, header};
use secrecy::ExposeSecret as _;

use super::{
    problem::{self, Told},
    remote::Client,
};
use crate::cli::http_client::{causes, read_up_to};

/// How often one request is sent, at most.
const TRIES_MAX: u32 = 4;

/// How long to wait before the second try; twice as long before each further one.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The longest wait that a server may ask for (`Retry-After`).
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The largest answer that is read: a payload of 25 MiB in base64, and the rest of it.
const ANSWER_BYTES_MAX: usize = 48 * 1024 * 1024;

/// One request, which can be sent several times.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: url::Url,
    /// JSON.
    pub(super) body: Option<String>,
    pub(super) idempotency_key: Option<String>,
}

/// What one try came to.
pub(super) enum Tried {
    Answered(StatusCode, Vec<u8>),
    /// Nothing, or nothing final: why, and how long the server wants us to wait.
    Lost(anyhow::Error, Option<Duration>),
}

impl Client {
    /// Sends it until there is an answer that counts.
    pub(super) async fn until_answered(&self, request: &Request) -> anyhow::Result<(StatusCode, Vec<u8>)> {
        let mut wait = FIRST_WAIT;
        let mut tries = 1;
        loop {
            match self.try_once(request).await? {
                Tried::Answered(status, body) => return Ok((status, body)),
                Tried::Lost(why, asked) if tries < TRIES_MAX => {
                    tracing::debug!(tries, "no answer yet: {why:#}");
                    tokio::time::sleep(asked.unwrap_or(wait).min(WAIT_MAX)).await;
                    wait *= 2;
                    tries += 1;
                }
                Tried::Lost(why, _) if request.idempotency_key.is_some() => {
                    return Err(
                        why.context("whether the order was carried out is not known: look before you give it again")
                    );
                }
                Tried::Lost(why, _) => return Err(why),
            }
        }
    }

    pub(super) async fn try_once(&self, request: &Request) -> anyhow::Result<Tried> {
        let mut sent = self.http.request(request.method.clone(), request.url.clone());
        sent = sent.header(header::ACCEPT, "application/json, application/problem+json");
        sent = sent.header(header::USER_AGENT, concat!("oncehook-cli/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.token {
            let mut value = header::HeaderValue::try_from(format!("Bearer {}", token.expose_secret()))
                .ok()
                .context("the token holds what no header may hold: take it as it was printed, on one line")?;
            value.set_sensitive(true);
            sent = sent.header(header::AUTHORIZATION, value);
        }
        if let Some(key) = &request.idempotency_key {
            sent = sent.header("Idempotency-Key", key);
        }
        if let Some(body) = &request.body {
            sent = sent.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = match sent.send().await {
            Ok(response) => response,
            Err(error) => {
                let why = format!("no answer from {}: {}", self.authority(), causes(&error));
                return Ok(Tried::Lost(
                    anyhow::anyhow!("{why} (is this the operator's port of a running oncehook?)"),
                    None,
                ));
            }
        };
        self.received(response).await
    }

    async fn received(&self, response: Response) -> anyhow::Result<Tried> {
        let status = response.status();
        let asked = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        match read_up_to(response, ANSWER_BYTES_MAX).await {
            Ok(body) if problem::is_for_now(status, &body) => {
                let told = match problem::told(status, &body) {
                    Told::Problem(failure) => failure,
                    Told::Foreign(what) => anyhow::anyhow!("{} {what}", self.authority()),
                };
                Ok(Tried::Lost(told, asked.map(Duration::from_secs)))
            }
            Ok(body) => Ok(Tried::Answered(status, body)),
            Err(error) => {
                let why = format!("the answer of {} broke off: {}", self.authority(), causes(&error));
                Ok(Tried::Lost(anyhow::anyhow!(why), None))
            }
        }
    }
}
