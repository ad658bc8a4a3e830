//! What the headers of one request present as proof. Takes header lines and text; gives bytes to compare; never compares.

use chrono::{DateTime, Utc};

use super::VerifyError;
use crate::domain::{DeliveryId, Headers};

/// One HMAC-SHA256, as bytes.
pub(super) type Signature = [u8; 32];

/// Signatures in one request. Senders send one per secret that is good now: two while they rotate, one per endpoint at
/// the very most (Stripe allows 16 of those). A longer list is not theirs, and would only be work for us.
pub(super) const SIGNATURES_MAX: usize = 16;

/// The common form of all schemes: HMAC-SHA256 over `prefix` and the body must be one of `signatures`.
pub(super) struct Presented {
    /// What is signed before the body: nothing, or the id and the timestamp with their dots.
    pub prefix: Vec<u8>,
    /// The signatures that could be read. Never empty, never more than [`SIGNATURES_MAX`].
    pub signatures: Vec<Signature>,
    /// The timestamp within `prefix`.
    pub signed_at: Option<DateTime<Utc>>,
    /// The delivery id within `prefix`.
    pub signed_id: Option<DeliveryId>,
}

/// The value of a header that must stand exactly once, hold something, and hold nothing but ASCII text. `missing` makes the error for its absence.
pub(super) fn only_value<'a>(
    headers: &'a Headers,
    header: &'static str,
    missing: impl FnOnce() -> VerifyError,
) -> Result<&'a [u8], VerifyError> {
    let mut values = headers.all(header);
    let value = values.next().ok_or_else(missing)?;
    if values.next().is_some() {
        return Err(VerifyError::RepeatedHeader { header });
    }
    if value.trim_ascii().is_empty() {
        return Err(VerifyError::EmptyHeader { header });
    }
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(VerifyError::MalformedHeader { header, expected: "visible ASCII characters" });
    }
    Ok(value)
}

/// The signatures among the elements of a list: `seen` holds all that claim the version we check, readable or not.
pub(super) fn readable(
    header: &'static str,
    expected: &'static str,
    seen: &[Option<Signature>],
) -> Result<Vec<Signature>, VerifyError> {
    if seen.is_empty() {
        return Err(VerifyError::NoSupportedSignature { header });
    }
    if seen.len() > SIGNATURES_MAX {
        return Err(VerifyError::TooManySignatures { header });
    }
    let signatures: Vec<Signature> = seen.iter().flatten().copied().collect();
    if signatures.is_empty() {
        return Err(VerifyError::MalformedHeader { header, expected });
    }
    Ok(signatures)
}

/// Reads exactly 64 hex digits of either case: the bytes are what is compared, so their spelling does not matter.
pub(super) fn from_hex(text: &[u8]) -> Option<Signature> {
    let mut signature = Signature::default();
    hex::decode_to_slice(text, &mut signature).ok()?;
    Some(signature)
}
