//! A signed request. The signature is made here, by the book, and not by the code that verifies it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::drill::fleet::SECRET;

/// What is sent, to whichever receiver.
#[derive(Debug, Clone)]
pub struct Letter {
    /// `X-GitHub-Delivery`.
    pub delivery_id: String,
    /// `X-GitHub-Event`.
    pub event: &'static str,
    /// The bytes.
    pub body: Vec<u8>,
    /// `X-Hub-Signature-256`; none where a forger left it out.
    pub signature: Option<String>,
}

/// The ways of a forger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Signed with another secret.
    OtherSecret,
    /// Not signed.
    Unsigned,
    /// Signed over another body.
    OtherBody,
    /// The first half of the right signature.
    Prefix,
    /// Signed with an empty secret.
    EmptySecret,
}

/// All of them.
pub const FORGERIES: [Forgery; 5] =
    [Forgery::OtherSecret, Forgery::Unsigned, Forgery::OtherBody, Forgery::Prefix, Forgery::EmptySecret];

impl Letter {
    /// Signs a body as GitHub does.
    pub fn sealed(delivery_id: &str, event: &'static str, body: Vec<u8>) -> Self {
        let signature = Some(sign(SECRET.as_bytes(), &body));
        Self { delivery_id: delivery_id.to_owned(), event, body, signature }
    }

    /// The same request as a forger sends it.
    pub fn forged(mut self, how: Forgery) -> Self {
        self.signature = match how {
            Forgery::OtherSecret => Some(sign(b"drill-secret-kept-in-no-fila", &self.body)),
            Forgery::Unsigned => None,
            Forgery::OtherBody => Some(sign(SECRET.as_bytes(), b"{}")),
            Forgery::Prefix => self.signature.map(|mut right| {
                right.truncate("sha256=".len() + 32);
                right
            }),
            Forgery::EmptySecret => Some(sign(b"", &self.body)),
        };
        self
    }

    /// SHA-256 of the body, in hex.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(&self.body))
    }
}

fn sign(secret: &[u8], body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of GitHub's documentation ("Validating webhook deliveries").
    #[test]
    fn a_body_is_signed_as_github_does() {
        let signature = sign(b"It's a Secret to Everybody", b"Hello, World!");
        assert_eq!(signature, "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    }

    #[test]
    fn no_forgery_has_the_right_signature() {
        let letter = Letter::sealed("1", "push", b"{\"a\":1}".to_vec());
        for how in FORGERIES {
            assert_ne!(letter.clone().forged(how).signature, letter.signature, "{how:?}");
        }
    }
}
