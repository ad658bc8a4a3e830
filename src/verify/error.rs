//! Why a request was not believed. Takes header names and numbers; gives sentences for operators and labels for
//! counters; never holds a digest, a signature that was sent, or a secret.

use super::presented::SIGNATURES_MAX;

/// Why a request was refused. Every one of them is answered with 401.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// There is nothing to check with, so nothing is believed.
    #[error("the source has no secret to check signatures with: set `secrets`")]
    NoSecret,
    /// The header that carries the signature is absent.
    #[error("the request is not signed: the header {header} is missing; set the secret on the provider's side too")]
    MissingSignature {
        /// The header's name.
        header: &'static str,
    },
    /// Another header that the scheme needs is absent.
    #[error("the header {header} is missing, which is part of the signature")]
    MissingHeader {
        /// The header's name.
        header: &'static str,
    },
    /// The header stands there without a value.
    #[error("the header {header} is empty")]
    EmptyHeader {
        /// The header's name.
        header: &'static str,
    },
    /// The header stands there more than once, and nobody can say which one counts.
    #[error("the header {header} is repeated; it must stand exactly once")]
    RepeatedHeader {
        /// The header's name.
        header: &'static str,
    },
    /// Headers with `webhook-` and with `svix-` names in one request.
    #[error("the request has both webhook-… and svix-… headers; it must use one kind")]
    MixedHeaders,
    /// The header does not have the form it must have.
    #[error("the header {header} is malformed; expected {expected}")]
    MalformedHeader {
        /// The header's name.
        header: &'static str,
        /// What it should have held.
        expected: &'static str,
    },
    /// There is only the older HMAC-SHA1 signature.
    #[error(
        "the request is signed with SHA-1 only (X-Hub-Signature), which is not accepted; X-Hub-Signature-256 is missing"
    )]
    Sha1Only,
    /// All signatures have versions that are not checked, such as `v0` or `v1a`.
    #[error("the header {header} holds no signature of version v1, and no other version is accepted")]
    NoSupportedSignature {
        /// The header's name.
        header: &'static str,
    },
    /// There are more signatures than any sender has secrets.
    #[error("the header {header} holds more than {SIGNATURES_MAX} signatures")]
    TooManySignatures {
        /// The header's name.
        header: &'static str,
    },
    /// The signed timestamp is too long ago: a replay, a slow queue before us, or a wrong clock.
    #[error(
        "the signed timestamp is {off_seconds} s old and {allowed_seconds} s are allowed; is a clock wrong, or was the \
         request held up or sent again as it was?"
    )]
    TooOld {
        /// Seconds between the timestamp and now.
        off_seconds: u64,
        /// Seconds that the source's tolerance allows.
        allowed_seconds: u64,
    },
    /// The signed timestamp is yet to come: a wrong clock, or a timestamp in milliseconds.
    #[error(
        "the signed timestamp is {off_seconds} s ahead and {allowed_seconds} s are allowed; is a clock wrong, or the \
         timestamp not in seconds?"
    )]
    TooFarAhead {
        /// Seconds between now and the timestamp.
        off_seconds: u64,
        /// Seconds that the source's tolerance allows.
        allowed_seconds: u64,
    },
    /// A request to an `api` source with neither a bearer token nor a signature.
    #[error("the request has neither an Authorization header with a bearer token nor a webhook-signature")]
    MissingToken,
    /// A bearer token and a signature in one request.
    #[error("the request has both an Authorization header and a webhook-signature; it must use one of the two")]
    MixedProofs,
    /// Nobody has this token. Which callers there are is not told.
    #[error("the bearer token is not known here: nobody may send with it")]
    TokenMismatch,
    /// The key that is signed is another than the one that is not.
    #[error(
        "the header idempotency-key differs from webhook-id, and only the latter is signed; leave it out, or send it once with the same value"
    )]
    UnsignedKey,
    /// Who looks at a receipt signs its id.
    #[error(
        "the signed webhook-id is not the receipt that was asked for: sign the id of the receipt, and an empty body"
    )]
    OtherReceipt,
    /// All is in order but the signature.
    #[error(
        "no configured secret makes the signature that was sent; is the secret the one shown by the provider for this \
         very endpoint, and does a proxy change the body?"
    )]
    SignatureMismatch,
}

impl VerifyError {
    /// A short label that stays the same between releases: for counters, answers and logs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoSecret => "no_secret",
            Self::MissingSignature { .. } => "missing_signature",
            Self::MissingHeader { .. } => "missing_header",
            Self::EmptyHeader { .. } => "empty_header",
            Self::RepeatedHeader { .. } => "repeated_header",
            Self::MixedHeaders => "mixed_headers",
            Self::MalformedHeader { .. } => "malformed_header",
            Self::Sha1Only => "sha1_only",
            Self::NoSupportedSignature { .. } => "no_supported_signature",
            Self::TooManySignatures { .. } => "too_many_signatures",
            Self::TooOld { .. } => "stale_timestamp",
            Self::TooFarAhead { .. } => "future_timestamp",
            Self::MissingToken => "missing_token",
            Self::MixedProofs => "mixed_proofs",
            Self::TokenMismatch => "token_mismatch",
            Self::UnsignedKey => "unsigned_key",
            Self::OtherReceipt => "other_receipt",
            Self::SignatureMismatch => "signature_mismatch",
        }
    }
}
