//! The scheme of `api` sources. Takes header lines and the secrets of all callers; gives a verdict on a bearer token at
//! once, or what a signature presents; never takes the one for the other.
//!
//! `Authorization: Bearer <secret>` is RFC 6750. The signature is that of Standard Webhooks, over the `webhook-id`, which
//! then is the command's key.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use super::{
    Verified, VerifyError,
    key::{TOKEN_BYTES_MAX, signing_key},
    presented::{Presented, only_value},
    standard_webhooks::{self, STANDARD, SVIX},
};
use crate::domain::{Fingerprint, Headers, Secret};

const AUTHORIZATION: &str = "authorization";
const BEARER: &[u8] = b"bearer";
const EXPECTED_TOKEN: &str = "`Bearer`, a space, and a token of at most 512 visible ASCII characters";

/// The key as a producer sends it beside a token.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What the headers came to.
pub(super) enum Read {
    /// The token is one of the secrets.
    Token(Verified),
    /// There is a signature, to be compared with those that each of the keys makes.
    Signed {
        presented: Presented,
        /// The name of each secret that can sign, with its key.
        keys: Vec<(Fingerprint, Secret)>,
    },
}

/// Reads what the headers present.
pub(super) fn read(
    secrets: &[Secret],
    headers: &Headers,
    tolerance: Duration,
    now: DateTime<Utc>,
) -> Result<Read, VerifyError> {
    let has = |name: &str| headers.all(name).next().is_some();
    match (has(AUTHORIZATION), has(STANDARD.signature) || has(SVIX.signature)) {
        (false, false) => Err(VerifyError::MissingToken),
        // Whichever was checked, somebody behind us may go by the other.
        (true, true) => Err(VerifyError::MixedProofs),
        (true, false) => Ok(Read::Token(check_token(secrets, headers)?)),
        (false, true) => {
            let presented = standard_webhooks::read(headers, tolerance, now)?;
            check_key(headers, &presented)?;
            let keys = secrets.iter().filter_map(|secret| Some((secret.fingerprint().clone(), signing_key(secret)?)));
            Ok(Read::Signed { presented, keys: keys.collect() })
        }
    }
}

/// Compares digests, which have one length whatever the token's is, with every secret, whether or not one has matched.
fn check_token(secrets: &[Secret], headers: &Headers) -> Result<Verified, VerifyError> {
    let value = only_value(headers, AUTHORIZATION, || VerifyError::MissingToken)?;
    let token =
        token_of(value).ok_or(VerifyError::MalformedHeader { header: AUTHORIZATION, expected: EXPECTED_TOKEN })?;
    let presented = Sha256::digest(token);
    let compared: Vec<(&Fingerprint, Choice)> = secrets
        .iter()
        .map(|secret| (secret.fingerprint(), Sha256::digest(secret.expose()).ct_eq(&presented)))
        .collect();
    let secret = compared.into_iter().find_map(|(name, hit)| bool::from(hit).then_some(name));
    let secret = secret.ok_or(VerifyError::TokenMismatch)?.clone();
    Ok(Verified { secret, signed_at: None, signed_id: None })
}

/// What follows `Bearer` and its spaces. The word has no case (RFC 9110, section 11.1), the token has.
fn token_of(value: &[u8]) -> Option<&[u8]> {
    let (word, rest) = value.split_at_checked(BEARER.len())?;
    let token = rest.strip_prefix(b" ")?;
    let token = &token[token.iter().position(|byte| *byte != b' ')?..];
    let is_token = token.len() <= TOKEN_BYTES_MAX && token.iter().all(u8::is_ascii_graphic);
    (word.eq_ignore_ascii_case(BEARER) && is_token).then_some(token)
}

/// The signature covers `webhook-id` and no other key.
fn check_key(headers: &Headers, presented: &Presented) -> Result<(), VerifyError> {
    let signed = presented.signed_id.as_ref().map(|id| id.as_str().as_bytes());
    let mut keys = headers.all(IDEMPOTENCY_KEY);
    let is_signed = keys.next().is_none_or(|key| Some(key) == signed) && keys.next().is_none();
    if is_signed { Ok(()) } else { Err(VerifyError::UnsignedKey) }
}
