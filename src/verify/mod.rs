//! Tells whether a request comes from the holder of a secret.
//!
//! Takes headers, body bytes, secrets and the time; gives a verdict; never reads a clock, a file or the network, and
//! never accepts for want of something to check.
//!
//! Two steps, so that a request that cannot be right is refused before its body is read: [`begin`] reads the headers,
//! [`Verification::update`] takes the body as it comes from the wire (nothing decoded, nothing inflated), and
//! [`Verification::finish`] compares. All schemes come down to one form: HMAC-SHA256 over some bytes from the headers
//! followed by the body, and a list of signatures of which one must be equal. A bearer token is the exception: it proves
//! the sender by itself, and so before the body.

mod api;
mod error;
mod github;
mod key;
mod presented;
mod scheme;
mod sign;
mod standard_webhooks;
mod stripe;
#[cfg(test)]
mod tests;
mod timestamp;

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

pub use error::VerifyError;
pub use key::{KEY_BYTES_MIN, KeyError, TOKEN_BYTES_MAX, signing_key};
pub use scheme::{Scheme, signature_header};

use crate::domain::{DeliveryId, Fingerprint, Headers, Secret};
use presented::{Presented, Signature};

type HmacSha256 = Hmac<Sha256>;

/// A request whose headers are in order and whose body is being read.
pub struct Verification(Proof);

/// What a request proves its sender by.
enum Proof {
    /// A signature, which covers the body.
    Signed {
        /// One for each secret, in the order of the configuration; each has seen the same bytes.
        running: Vec<(Fingerprint, HmacSha256)>,
        presented: Presented,
    },
    /// A bearer token, which was compared already: whatever body follows is its holder's.
    Token(Verified),
}

/// What a signature proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Names the secret that matched, so that an operator sees when a rotation is over. The first in the order of the
    /// configuration, should several match.
    pub secret: Fingerprint,
    /// When the sender signed, to the second; `None` for GitHub, which signs no time, and with a bearer token.
    pub signed_at: Option<DateTime<Utc>>,
    /// The delivery id that the signature covers; `None` for GitHub, which does not sign it, and for Stripe, which has
    /// it in the body, and with a bearer token.
    pub signed_id: Option<DeliveryId>,
}

/// Reads the headers of a request, before its body.
///
/// `tolerance` is how far a signed timestamp may be from `now` in
/// either direction, counted in whole seconds; zero means the same second and never "unchecked".
///
/// # Errors
/// When there is no secret to check with, when a header that the scheme needs is absent, empty, repeated or malformed,
/// and when the signed timestamp is outside of the tolerance.
pub fn begin(
    scheme: Scheme,
    secrets: &[Secret],
    tolerance: Duration,
    headers: &Headers,
    now: DateTime<Utc>,
) -> Result<Verification, VerifyError> {
    if secrets.is_empty() {
        return Err(VerifyError::NoSecret);
    }
    let presented = match scheme {
        Scheme::GitHub => github::read(headers)?,
        Scheme::Stripe => stripe::read(headers, tolerance, now)?,
        Scheme::StandardWebhooks => standard_webhooks::read(headers, tolerance, now)?,
        Scheme::Api => match api::read(secrets, headers, tolerance, now)? {
            api::Read::Token(verified) => return Ok(Verification(Proof::Token(verified))),
            api::Read::Signed { presented, keys } => {
                return Ok(begin_signed(keys.iter().map(|(name, key)| (name, key)), presented));
            }
        },
    };
    Ok(begin_signed(secrets.iter().map(|secret| (secret.fingerprint(), secret)), presented))
}

fn begin_signed<'s>(keys: impl Iterator<Item = (&'s Fingerprint, &'s Secret)>, presented: Presented) -> Verification {
    let running = keys.map(|(name, key)| (name.clone(), keyed(key).chain_update(&presented.prefix))).collect();
    Verification(Proof::Signed { running, presented })
}

impl Verification {
    /// Takes the next bytes of the body, as they came from the wire.
    pub fn update(&mut self, chunk: &[u8]) {
        if let Proof::Signed { running, .. } = &mut self.0 {
            running.iter_mut().for_each(|(_, mac)| mac.update(chunk));
        }
    }

    /// Compares, after the last byte. Every secret is compared with every signature in constant time, whether or not
    /// one has matched: the time it takes tells nothing about how near a guess was.
    ///
    /// # Errors
    /// When no secret makes any of the signatures that were sent.
    pub fn finish(self) -> Result<Verified, VerifyError> {
        let (running, presented) = match self.0 {
            Proof::Token(verified) => return Ok(verified),
            Proof::Signed { running, presented } => (running, presented),
        };
        let compared: Vec<(Fingerprint, Choice)> = running
            .into_iter()
            .map(|(fingerprint, mac)| (fingerprint, is_among(&digest_of(mac), &presented.signatures)))
            .collect();
        // Only now, with all comparisons done, may the code branch on their outcome.
        let secret = compared.into_iter().find_map(|(fingerprint, hit)| bool::from(hit).then_some(fingerprint));
        let secret = secret.ok_or(VerifyError::SignatureMismatch)?;
        Ok(Verified { secret, signed_at: presented.signed_at, signed_id: presented.signed_id })
    }
}

impl fmt::Debug for Verification {
    /// Counts only: the signatures that were sent must not get into a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Proof::Token(_) => f.write_str("Verification(token)"),
            Proof::Signed { running, presented } => {
                write!(f, "Verification({} secrets, {} signatures)", running.len(), presented.signatures.len())
            }
        }
    }
}

/// An HMAC that has seen nothing yet.
fn keyed(secret: &Secret) -> HmacSha256 {
    HmacSha256::new_from_slice(secret.expose()).expect("HMAC takes keys of any length")
}

fn digest_of(mac: HmacSha256) -> Signature {
    mac.finalize().into_bytes().into()
}

/// Whether `digest` is one of `signatures`; looks at all of them.
fn is_among(digest: &Signature, signatures: &[Signature]) -> Choice {
    signatures.iter().fold(Choice::from(0), |hit, signature| hit | digest.ct_eq(signature))
}
