//! An appliance elsewhere: asks `/api/v1` on its operator's port. Tries again where an answer was lost, an order always under
//! the same `Idempotency-Key`, so that it is carried out once.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Method, StatusCode};
use secrecy::SecretString;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    address,
    exchange::{Request, Tried},
    problem::{self, Told},
};
use crate::{
    cli::{globals::Remote, http_client::client},
    operate::Page,
};

/// How long one answer may take: a search through a million receipts takes less than a second.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Who is asked, and how.
pub struct Client {
    pub(super) http: reqwest::Client,
    base: url::Url,
    pub(super) token: Option<SecretString>,
}

impl Client {
    /// Reads the token and prepares the connection.
    pub(super) fn of(url: &url::Url, options: &Remote) -> anyhow::Result<Self> {
        address::check(url)?;
        let token = address::token(options)?;
        if token.is_some() {
            address::warn_if_open(url);
        }
        let mut base = url.clone();
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self { http: client(1, ANSWER_TIMEOUT)?, base, token })
    }

    /// Asks.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &impl Serialize) -> anyhow::Result<T> {
        let url = self.url(path, query)?;
        self.answer(Request { method: Method::GET, url, body: None, idempotency_key: None }).await
    }

    /// Asks for a list that has one page.
    pub(super) async fn get_all<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
    ) -> anyhow::Result<Vec<T>> {
        Ok(self.get::<Page<T>>(path, query).await?.items)
    }

    /// Asks for something that retention may have deleted.
    pub(super) async fn get_unless_gone<T: DeserializeOwned>(&self, path: &[&str]) -> anyhow::Result<Option<T>> {
        match self.get(path, &()).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is::<problem::Gone>() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for bytes that retention may have deleted.
    pub(super) async fn bytes_unless_gone(
        &self,
        path: &[&str],
        query: &impl Serialize,
    ) -> anyhow::Result<Option<Vec<u8>>> {
        let request = Request { method: Method::GET, url: self.url(path, query)?, body: None, idempotency_key: None };
        match self.until_answered(&request).await? {
            (status, bytes) if status.is_success() => Ok(Some(bytes)),
            (status, bytes) => match self.refusal(&request, status, &bytes).await {
                error if error.is::<problem::Gone>() => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Asks, with a body, and changes nothing.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.send(path, query, body).await
    }

    /// Gives an order, once however often it has to be sent.
    pub(super) async fn post<T: DeserializeOwned>(&self, path: &[&str], body: &impl Serialize) -> anyhow::Result<T> {
        self.send(path, &(), body).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_string(body).context("failed to write JSON")?;
        let idempotency_key = Some(format!("cli-{}", ulid::Ulid::generate().to_string().to_ascii_lowercase()));
        let request = Request { method: Method::POST, url: self.url(path, query)?, body: Some(body), idempotency_key };
        self.answer(request).await
    }

    fn url(&self, path: &[&str], query: &impl Serialize) -> anyhow::Result<url::Url> {
        let mut url = self.base.clone();
        {
            let mut segments = url.path_segments_mut().ok().context("--url must have a host")?;
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        let pairs = address::query_pairs(query)?;
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        Ok(url)
    }

    async fn answer<T: DeserializeOwned>(&self, request: Request) -> anyhow::Result<T> {
        let (status, body) = self.until_answered(&request).await?;
        if status.is_success() {
            match serde_json::from_slice(&body) {
                Ok(answer) => return Ok(answer),
                Err(error) => {
                    let of = format!(
                        "{} answered {status} with something that this version cannot read: {error}",
                        request.url.path()
                    );
                    anyhow::bail!("{of}{}", self.version_hint().await);
                }
            }
        }
        Err(self.refusal(&request, status, &body).await)
    }

    async fn refusal(&self, request: &Request, status: StatusCode, body: &[u8]) -> anyhow::Error {
        match problem::told(status, body) {
            Told::Problem(failure) => failure,
            Told::Foreign(what) => {
                let hint = self.version_hint().await;
                anyhow::anyhow!("{} of {} {what}{hint}", request.url.path(), self.authority())
            }
        }
    }

    /// What to say behind a misunderstanding: which versions talk. Asked for only then.
    async fn version_hint(&self) -> String {
        let Ok(url) = self.url(&["openapi.json"], &()) else { return String::new() };
        let request = Request { method: Method::GET, url, body: None, idempotency_key: None };
        let told = match self.try_once(&request).await {
            Ok(Tried::Answered(status, body)) if status.is_success() => problem::version_of(&body),
            _ => None,
        };
        problem::version_hint(told.as_deref())
    }

    pub(super) fn authority(&self) -> &str {
        &self.base[url::Position::BeforeHost..url::Position::AfterPort]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::DeliveryState, operate::ReceiptQuery};

    fn client_of(url: &str, token: Option<&str>) -> anyhow::Result<Client> {
        let options = Remote { url: None, token: token.map(SecretString::from), token_file: None };
        Client::of(&url.parse().unwrap(), &options)
    }

    #[test]
    fn paths_and_queries_are_escaped_and_only_what_is_set_is_sent() {
        let client = client_of("https://hooks.example.com/below/?x=1#y", None).unwrap();
        let query = ReceiptQuery {
            state: Some(DeliveryState::Dead),
            q: Some("a&b=c d".to_owned()),
            limit: Some(7),
            ..ReceiptQuery::default()
        };
        let url = client.url(&["receipts", "../a b?"], &query).unwrap();
        insta::assert_snapshot!(url, @"https://hooks.example.com/below/api/v1/receipts/..%2Fa%20b%3F?state=dead&q=a%26b%3Dc+d&limit=7");
        assert_eq!(client.authority(), "hooks.example.com");
    }

    #[test]
    fn an_address_with_a_user_or_of_another_kind_is_refused() {
        for url in ["http://user:canary@127.0.0.1:1", "ftp://127.0.0.1", "unix:/run/x"] {
            let refusal = client_of(url, None).err().unwrap().to_string();
            assert!(refusal.contains("--token-file") && !refusal.contains("canary"), "{refusal}");
        }
        assert!(client_of("http://[::1]:8081", Some("x")).is_ok());
    }
}
