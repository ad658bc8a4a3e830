//! The schemes by which providers sign. Takes header lines and gives header names; never looks into a signature.

use crate::domain::Headers;

/// How a provider signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `X-Hub-Signature-256: sha256=<hex>` over the body. Neither a time nor the delivery id is signed.
    GitHub,
    /// `Stripe-Signature: t=<unix seconds>,v1=<hex>` over `{t}.{body}`.
    Stripe,
    /// `webhook-signature: v1,<base64>` over `{webhook-id}.{webhook-timestamp}.{body}`, or the same with `svix-` names.
    StandardWebhooks,
    /// A producer of one's own: `Authorization: Bearer <secret>`, or the signature of Standard Webhooks with the same secret.
    Api,
}

impl Scheme {
    /// The word for it: that of the provider who signs so.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Stripe => "stripe",
            Self::StandardWebhooks => "standard_webhooks",
            Self::Api => "api",
        }
    }
}

/// Every header that carries a signature in one of the schemes, the one that a sender ought to use first.
const SIGNATURE_HEADERS: [&str; 5] = [
    super::github::SIGNATURE,
    super::github::SIGNATURE_SHA1,
    super::stripe::SIGNATURE,
    super::standard_webhooks::STANDARD.signature,
    super::standard_webhooks::SVIX.signature,
];

/// The first header by which a request looks signed; `None` for a request that nobody signed.
///
/// Any scheme counts, and it does not matter whether the signature is right. A source without secrets uses it to say so when its provider does sign: the
/// operator then has a secret to configure (pitfall B024). A header without a value does not count, for some senders
/// without a secret send just that.
#[must_use]
pub fn signature_header(headers: &Headers) -> Option<&'static str> {
    SIGNATURE_HEADERS.into_iter().find(|name| headers.all(name).any(|value| !value.trim_ascii().is_empty()))
}
