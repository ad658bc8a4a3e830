//! GitHub's scheme. Takes header lines; gives the one signature they present; never falls back to SHA-1.
//!
//! Source: docs.github.com, "Validating webhook deliveries". `X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of
//! the request body in hex, also for form-encoded bodies. GitHub signs no timestamp and no delivery id.

use super::{
    VerifyError,
    presented::{Presented, from_hex, only_value},
};
use crate::domain::Headers;

/// The header with the signature.
pub(super) const SIGNATURE: &str = "x-hub-signature-256";

/// The header with the older HMAC-SHA1, which GitHub sends beside the other, and GitHub Enterprise Server up to 2.22
/// sends alone. It proves nothing here.
pub(super) const SIGNATURE_SHA1: &str = "x-hub-signature";

/// GitHub writes the prefix in lower case and so must every sender; hex digits are read in either case.
const PREFIX: &[u8] = b"sha256=";

const EXPECTED: &str = "`sha256=` in lower case and then 64 hex digits";

/// Reads what GitHub's headers present.
pub(super) fn read(headers: &Headers) -> Result<Presented, VerifyError> {
    let value = only_value(headers, SIGNATURE, || match headers.all(SIGNATURE_SHA1).next() {
        Some(_) => VerifyError::Sha1Only,
        None => VerifyError::MissingSignature { header: SIGNATURE },
    })?;
    let signature = value
        .strip_prefix(PREFIX)
        .and_then(from_hex)
        .ok_or(VerifyError::MalformedHeader { header: SIGNATURE, expected: EXPECTED })?;
    Ok(Presented { prefix: Vec::new(), signatures: vec![signature], signed_at: None, signed_id: None })
}
