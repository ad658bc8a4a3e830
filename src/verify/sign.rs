//! Signs as the providers do: for `oncehook send`, for deliveries to HTTP destinations, and for tests. Takes a secret, an
//! id, a time and a body; gives header lines; never sends anything.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chrono::{DateTime, Utc};
use hmac::Mac as _;

use super::{
    Scheme, digest_of, github, key::signing_key, keyed, presented::Signature, standard_webhooks::STANDARD, stripe,
};
use crate::domain::Secret;

impl Scheme {
    /// The header lines that prove `body` to the holder of `secret`, names in lower case. GitHub signs neither `id` nor
    /// `timestamp`, Stripe not `id`. A signature is good for one attempt: sign again, with the time of the attempt,
    /// before sending again.
    ///
    /// For an `api` source a secret that cannot sign is sent as bearer token.
    ///
    /// What is signed is what is given, also an `id` that no receiver accepts (empty, or with a dot).
    #[must_use]
    pub fn sign(self, secret: &Secret, id: &str, timestamp: DateTime<Utc>, body: &[u8]) -> Vec<(&'static str, String)> {
        let seconds = timestamp.timestamp();
        match self {
            Self::GitHub => {
                let signature = hex::encode(signature(secret, "", body));
                vec![(github::SIGNATURE, format!("sha256={signature}"))]
            }
            Self::Stripe => {
                let signature = hex::encode(signature(secret, &format!("{seconds}."), body));
                vec![(stripe::SIGNATURE, format!("t={seconds},v1={signature}"))]
            }
            Self::StandardWebhooks => {
                let signature = BASE64_STANDARD.encode(signature(secret, &format!("{id}.{seconds}."), body));
                vec![
                    (STANDARD.id, id.to_owned()),
                    (STANDARD.timestamp, seconds.to_string()),
                    (STANDARD.signature, format!("v1,{signature}")),
                ]
            }
            Self::Api => match signing_key(secret) {
                Some(key) => Self::StandardWebhooks.sign(&key, id, timestamp, body),
                None => vec![("authorization", format!("Bearer {}", String::from_utf8_lossy(secret.expose())))],
            },
        }
    }
}

fn signature(secret: &Secret, prefix: &str, body: &[u8]) -> Signature {
    digest_of(keyed(secret).chain_update(prefix).chain_update(body))
}
