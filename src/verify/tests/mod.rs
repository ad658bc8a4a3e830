//! Tests of verification, one file a theme. `Request` states one case; `hmac_by_hand` is a second opinion that shares no
//! code with what it judges but SHA-256.

mod answers;
mod api;
mod differential;
mod github;
mod keys;
mod lists;
mod properties;
mod rotation;
mod signing;
mod standard_webhooks;
mod stripe;
mod timestamps;
mod vectors;
mod wire_bytes;

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use super::{Scheme, Verified, VerifyError, begin};
use crate::domain::{Headers, Secret};

/// The time of the byte vectors in pitfalls.md.
const NOW: i64 = 1_700_000_000;
const TOLERANCE: Duration = Duration::from_secs(300);

/// Body V5 of pitfalls.md: pretty JSON that ends with a line feed.
const V5: &[u8] = b"{\n  \"a\": 2\n}\n";
const V5_HEX: &str = "388029e3a86c471ec6c65f76181ce2425eb528c0f173a23ab308c8473b4b5ac2";
const GITHUB_KEY: &str = "ghsecret-0123456789";

/// The body and the signature of the Stripe vector in pitfalls.md.
const STRIPE_KEY: &str = "whsec_test_AAAABBBBCCCCDDDD";
const STRIPE_BODY: &[u8] = b"{\n  \"id\": \"evt_1TEST\",\n  \"object\": \"event\",\n  \"created\": 1700000000,\n  \"type\": \"customer.subscription.updated\"\n}";
const STRIPE_HEX: &str = "3be6a9978046cb6acf3fa88e3e8284f9e6cd832a9d8332ab93d78500281da9a0";

/// The first vector of the Standard Webhooks libraries.
const STANDARD_KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const STANDARD_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const STANDARD_SECONDS: i64 = 1_614_265_330;
const STANDARD_BODY: &[u8] = br#"{"test": 2432232314}"#;
const STANDARD_BASE64: &str = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

fn key(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn standard_key() -> Secret {
    Scheme::StandardWebhooks.decode_key(STANDARD_KEY).unwrap()
}

/// One request with all that its verdict depends on.
#[derive(Clone)]
struct Request {
    scheme: Scheme,
    secrets: Vec<Secret>,
    tolerance: Duration,
    now: DateTime<Utc>,
    headers: Headers,
    body: Vec<u8>,
}

impl std::fmt::Debug for Request {
    /// For failed properties: all that one needs to see why.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wire = self.headers.to_wire();
        write!(f, "{:?} at {} with {:?}: ", self.scheme, self.now, self.secrets)?;
        write!(f, "{:?} {:?}", String::from_utf8_lossy(&wire), String::from_utf8_lossy(&self.body))
    }
}

impl Request {
    fn new(scheme: Scheme, secret: Secret, seconds: i64, body: &[u8]) -> Self {
        let (headers, body) = (Headers::new(), body.to_vec());
        Self { scheme, secrets: vec![secret], tolerance: TOLERANCE, now: at(seconds), headers, body }
    }

    /// Vector V5, without a header yet.
    fn github() -> Self {
        Self::new(Scheme::GitHub, key(GITHUB_KEY), NOW, V5)
    }

    /// The Stripe vector, without a header yet.
    fn stripe() -> Self {
        Self::new(Scheme::Stripe, key(STRIPE_KEY), NOW, STRIPE_BODY)
    }

    /// The first Standard Webhooks vector with its id and timestamp, but no signature yet.
    fn standard() -> Self {
        Self::new(Scheme::StandardWebhooks, standard_key(), STANDARD_SECONDS, STANDARD_BODY)
            .with("webhook-id", STANDARD_ID)
            .with("webhook-timestamp", STANDARD_SECONDS.to_string())
    }

    fn with(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push(name, value);
        self
    }

    /// Signed with its first secret, for its own time.
    fn signed(mut self, id: &str) -> Self {
        for (name, value) in self.scheme.sign(&self.secrets[0], id, self.now, &self.body) {
            self.headers.push(name, value);
        }
        self
    }

    fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    fn secrets(mut self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        self.secrets = secrets.into_iter().collect();
        self
    }

    fn verdict(&self) -> Result<Verified, VerifyError> {
        self.verdict_in_chunks(&[&self.body])
    }

    fn verdict_in_chunks(&self, chunks: &[&[u8]]) -> Result<Verified, VerifyError> {
        let mut verification = begin(self.scheme, &self.secrets, self.tolerance, &self.headers, self.now)?;
        chunks.iter().for_each(|chunk| verification.update(chunk));
        verification.finish()
    }

    /// The label of the refusal, or `accepted`.
    fn outcome(&self) -> &'static str {
        self.verdict().map_or_else(|error| error.reason(), |_| "accepted")
    }
}

/// HMAC-SHA256 as RFC 2104 spells it, for keys of up to 64 bytes.
fn hmac_by_hand(key: &[u8], message: &[u8]) -> [u8; 32] {
    assert!(key.len() <= 64, "longer keys would have to be hashed first");
    let padded =
        |pad: u8| -> Vec<u8> { (0..64).map(|place| key.get(place).copied().unwrap_or_default() ^ pad).collect() };
    let inner = Sha256::digest([padded(0x36).as_slice(), message].concat());
    Sha256::digest([padded(0x5c).as_slice(), inner.as_slice()].concat()).into()
}
