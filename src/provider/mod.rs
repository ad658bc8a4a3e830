//! Who sends, and what their requests mean. Takes headers and a verified body, gives the event's identity; never reads a
//! clock, a file or a network.
//!
//! Per provider there is a table where a table will do. A genuine event is never refused over its contents.

mod github;
mod identity;
mod json;
mod moment;
mod standard_webhooks;
mod stripe;
mod subject;

use std::{fmt, str::FromStr, time::Duration};

pub use identity::{IdentifyError, Identity, PayloadForm, identify};

use crate::verify::Scheme;

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// github.com and GitHub Enterprise Server.
    GitHub,
    /// Stripe.
    Stripe,
    /// Anyone who follows Standard Webhooks 1.0.
    StandardWebhooks,
}

/// A text that names no provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider {text:?}: use \"github\", \"stripe\" or \"standard_webhooks\"")]
pub struct UnknownProvider {
    text: String,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 3] = [Self::GitHub, Self::Stripe, Self::StandardWebhooks];

    /// The word for it in configuration, JSON and fixture folders.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Stripe => "stripe",
            Self::StandardWebhooks => "standard_webhooks",
        }
    }

    /// How it signs, unless a source says otherwise.
    #[must_use]
    pub fn default_scheme(self) -> Scheme {
        match self {
            Self::GitHub => Scheme::GitHub,
            Self::Stripe => Scheme::Stripe,
            Self::StandardWebhooks => Scheme::StandardWebhooks,
        }
    }

    /// The status of the answer to a conflict, unless a source says otherwise. Stripe retries anything but 2xx for up to
    /// three days (docs.stripe.com/webhooks), and a retry cannot end a conflict.
    #[must_use]
    pub fn default_conflict_status(self) -> u16 {
        match self {
            Self::GitHub | Self::StandardWebhooks => 409,
            Self::Stripe => 200,
        }
    }

    /// Whether the delivery id is covered by the signature. GitHub signs the body only
    /// (docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries), so that a captured request can come again
    /// under another id.
    #[must_use]
    pub fn signs_delivery_id(self) -> bool {
        match self {
            Self::GitHub => false,
            Self::Stripe | Self::StandardWebhooks => true,
        }
    }

    /// How far a signed timestamp may be from now, both ways, unless a source says otherwise: 300 s, as in the SDKs of
    /// Stripe and of Standard Webhooks. `None`: the provider signs no timestamp.
    #[must_use]
    pub fn default_tolerance(self) -> Option<Duration> {
        match self {
            Self::GitHub => None,
            Self::Stripe | Self::StandardWebhooks => Some(Duration::from_secs(300)),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text)
            .ok_or_else(|| UnknownProvider { text: text.chars().take(64).collect() })
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod names {
    use super::*;

    #[test]
    fn a_provider_reads_back_from_its_own_name() {
        for provider in Provider::ALL {
            assert_eq!(provider.as_str().parse(), Ok(provider));
        }
        for bad in ["", "GitHub", "gitlab", "standard-webhooks"] {
            assert!(bad.parse::<Provider>().unwrap_err().to_string().contains("\"standard_webhooks\""), "{bad}");
        }
    }
}
