//! Verification.

/// How a provider signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `X-Hub-Signature-256`
    GitHub,
    /// `Stripe-Signature`
    Stripe,
    /// `webhook-signature`
    StandardWebhooks,
}
