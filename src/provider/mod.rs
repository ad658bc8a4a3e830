//! Providers.

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// github.com and GitHub Enterprise Server.
    GitHub,
    /// Stripe.
    Stripe,
    /// Anyone who follows Standard Webhooks 1.0.
    StandardWebhooks,
}
