//! New delivery ids of the form that each provider gives them. Random, never counted.

use crate::provider::Provider;

const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A delivery id that nobody has used: a random UUID for GitHub and as key of a command, `evt_…` for Stripe, `msg_…` for Standard Webhooks.
#[must_use]
pub(in crate::cli) fn fresh_id(provider: Provider) -> String {
    match provider {
        Provider::GitHub | Provider::Api => uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string(),
        Provider::Stripe => format!("evt_{}", letters()),
        Provider::StandardWebhooks => format!("msg_{}", letters()),
    }
}

/// 24 letters, each one of 62: about 142 random bits.
fn letters() -> String {
    std::iter::repeat_with(|| usize::from(rand::random::<u8>() & 63))
        .filter_map(|number| LETTERS.get(number).copied().map(char::from))
        .take(24)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_id_has_the_providers_form_and_is_new() {
        assert_eq!(fresh_id(Provider::GitHub).split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        for (provider, prefix) in [(Provider::Stripe, "evt_"), (Provider::StandardWebhooks, "msg_")] {
            let id = fresh_id(provider);
            assert!(id.starts_with(prefix) && id.len() == 28 && !id.contains('.'), "{id}");
            assert_ne!(id, fresh_id(provider));
        }
    }
}
