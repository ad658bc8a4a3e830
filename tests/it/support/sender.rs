//! A provider, as tests want one: signs what it posts, and lies when it is told to.

use std::net::SocketAddr;

use chrono::{DateTime, TimeDelta, Utc};
use oncehook::{clock::Clock, domain::Secret, verify::Scheme};
use serde_json::Value;
use ulid::Ulid;

use super::app::{GITHUB_SECRET, STANDARD_SECRET, STRIPE_SECRET};

/// Posts to one appliance.
#[derive(Clone)]
pub struct Sender {
    address: SocketAddr,
    clock: Clock,
    client: reqwest::Client,
}

/// One request, to be changed before it is sent.
#[derive(Clone)]
pub struct Letter {
    sender: Sender,
    scheme: Scheme,
    secret: String,
    source: String,
    id: String,
    at: DateTime<Utc>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    signed_body: Option<Vec<u8>>,
    is_signed: bool,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Reply {
    async fn of(response: reqwest::Response) -> Result<Self, reqwest::Error> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Self { status, headers, text: response.text().await? })
    }

    /// The answer as JSON, `null` where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// One text of the answer, empty where it is absent.
    pub fn text_of(&self, key: &str) -> String {
        self.json()[key].as_str().unwrap_or_default().to_owned()
    }
}

impl Sender {
    pub fn to(address: SocketAddr, clock: Clock) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the provider's client, not ours")]
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, clock, client }
    }

    /// Where it posts to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Looks at a page.
    pub async fn get(&self, url: &str) -> Reply {
        Reply::of(self.client.get(url).send().await.unwrap()).await.unwrap()
    }

    /// An event of GitHub with a fresh delivery id.
    pub fn github(&self, event: &str, body: impl Into<Vec<u8>>) -> Letter {
        let id = uuid::Uuid::from(Ulid::generate()).to_string();
        let letter = self.letter(Scheme::GitHub, "github", GITHUB_SECRET, &id, body.into());
        letter
            .header("x-github-event", event)
            .header("x-github-hook-id", "1")
            .header("content-type", "application/json")
    }

    /// A push of GitHub to a branch of repository 1.
    pub fn push(&self, branch: &str) -> Letter {
        let body = serde_json::json!({ "ref": format!("refs/heads/{branch}"), "repository": { "id": 1 } });
        self.github("push", body.to_string())
    }

    /// An event of Stripe; its id is in the body.
    pub fn stripe(&self, body: &Value) -> Letter {
        let id = body["id"].as_str().unwrap_or_default().to_owned();
        self.letter(Scheme::Stripe, "stripe", STRIPE_SECRET, &id, body.to_string().into_bytes())
    }

    /// A Standard Webhooks message with a fresh id.
    pub fn standard(&self, body: impl Into<Vec<u8>>) -> Letter {
        let id = format!("msg_{}", Ulid::generate());
        self.letter(Scheme::StandardWebhooks, "standard", STANDARD_SECRET, &id, body.into())
    }

    fn letter(&self, scheme: Scheme, source: &str, secret: &str, id: &str, body: Vec<u8>) -> Letter {
        Letter {
            sender: self.clone(),
            scheme,
            secret: secret.to_owned(),
            source: source.to_owned(),
            id: id.to_owned(),
            at: self.clock.now(),
            headers: Vec::new(),
            body,
            signed_body: None,
            is_signed: true,
        }
    }
}

impl Letter {
    pub fn id(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    pub fn source(mut self, source: &str) -> Self {
        source.clone_into(&mut self.source);
        self
    }

    /// What stands behind `/hooks/`.
    pub fn path(&self) -> &str {
        &self.source
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Puts a header in place of those of the same name.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(held, _)| held != name);
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Adds a header line behind those of the same name.
    pub fn also(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub fn signed_with(mut self, secret: &str) -> Self {
        secret.clone_into(&mut self.secret);
        self
    }

    /// Signs other bytes than it sends.
    pub fn signed_over(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.signed_body = Some(body.into());
        self
    }

    pub fn unsigned(mut self) -> Self {
        self.is_signed = false;
        self
    }

    /// Signs as if it were so much later (or earlier).
    pub fn signed_later(mut self, by: TimeDelta) -> Self {
        self.at += by;
        self
    }

    /// All header lines, the signature's among them.
    pub fn lines(&self) -> Vec<(String, Vec<u8>)> {
        let mut lines = self.headers.clone();
        if self.scheme == Scheme::GitHub && !lines.iter().any(|(name, _)| name == "x-github-delivery") {
            lines.push(("x-github-delivery".to_owned(), self.id.clone().into_bytes()));
        }
        if self.is_signed {
            let secret = match self.scheme {
                Scheme::StandardWebhooks => self.scheme.decode_key(&self.secret).unwrap(),
                _ => Secret::new(self.secret.clone().into_bytes()),
            };
            let signed = self.signed_body.as_deref().unwrap_or(&self.body);
            let signature = self.scheme.sign(&secret, &self.id, self.at, signed);
            lines.extend(signature.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())));
        }
        lines
    }

    /// The whole request as bytes, with its length.
    pub fn wire(&self) -> Vec<u8> {
        let mut wire = self.wire_head(&format!("content-length: {}", self.body.len()));
        wire.extend_from_slice(&self.body);
        wire
    }

    /// The whole request as bytes, in chunks of so many bytes.
    pub fn wire_in_chunks(&self, bytes: usize) -> Vec<u8> {
        let mut wire = self.wire_head("transfer-encoding: chunked");
        for chunk in self.body.chunks(bytes) {
            wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        wire
    }

    /// The head as bytes, with `more` header lines at its end.
    pub fn wire_head(&self, more: &str) -> Vec<u8> {
        let mut wire = format!("POST /hooks/{} HTTP/1.1\r\nhost: hooks.example.com\r\n", self.source).into_bytes();
        for (name, value) in self.lines() {
            wire.extend_from_slice(&[name.as_bytes(), b": ", &value, b"\r\n"].concat());
        }
        wire.extend_from_slice(format!("{more}\r\n\r\n").as_bytes());
        wire
    }

    /// Posts it and waits for the answer.
    pub async fn send(&self) -> Reply {
        self.try_send().await.unwrap()
    }

    /// Posts it; the connection may break.
    pub async fn try_send(&self) -> Result<Reply, reqwest::Error> {
        let url = format!("http://{}/hooks/{}", self.sender.address, self.source);
        let mut request = self.sender.client.post(url).body(self.body.clone());
        for (name, value) in self.lines() {
            request = request.header(name, value);
        }
        Reply::of(request.send().await?).await
    }
}
