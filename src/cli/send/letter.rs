//! Takes a fixture, an id, a secret and a time, and gives the request as the provider would send it: same bytes, save for
//! what was asked to be changed, and a signature. Pure.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::{
    domain::{Headers, Secret},
    fixture::{
        Change, Fixture, SetError,
        json_member::{self, JsonMemberError},
    },
    provider::Provider,
    verify::Scheme,
};

/// Where each provider says which event it is; Stripe does within the body.
const GITHUB_ID: &str = "x-github-delivery";
const STANDARD_ID: &str = "webhook-id";
const COMMAND_KEY: &str = "idempotency-key";

/// A fixture on its way to becoming requests.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Letter {
    pub(in crate::cli) provider: Provider,
    pub(in crate::cli) headers: Headers,
    pub(in crate::cli) body: Bytes,
    /// `None`: the source takes unsigned requests.
    pub(in crate::cli) seal: Option<(Scheme, Secret)>,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct SealedLetter {
    pub(in crate::cli) delivery_id: String,
    pub(in crate::cli) headers: Headers,
    pub(in crate::cli) body: Bytes,
}

impl Letter {
    /// The fixture with changes made to its body.
    ///
    /// # Errors
    /// When the body has no such value.
    pub(in crate::cli) fn of(
        provider: Provider,
        fixture: Fixture,
        seal: Option<(Scheme, Secret)>,
        changes: &[Change],
    ) -> Result<Self, SetError> {
        let fixture = changes.iter().try_fold(fixture, Fixture::set)?;
        Ok(Self { provider, headers: fixture.headers, body: fixture.body, seal })
    }

    /// The id that the fixture itself has; `None`: it has none.
    pub(in crate::cli) fn own_id(&self) -> Option<String> {
        let header = match self.provider {
            Provider::GitHub => GITHUB_ID,
            Provider::StandardWebhooks => STANDARD_ID,
            Provider::Api => COMMAND_KEY,
            Provider::Stripe => {
                let place = json_member::find(&self.body, "id").ok()?;
                return serde_json::from_slice(&self.body[place]).ok();
            }
        };
        self.headers.only_text(header).map(str::to_owned)
    }

    /// A request that carries this id and is signed at this time. A body is copied only where the id stands in it.
    ///
    /// # Errors
    /// When the id belongs into the body and there is no place for it.
    pub(in crate::cli) fn seal(&self, delivery_id: &str, at: DateTime<Utc>) -> Result<SealedLetter, JsonMemberError> {
        let mut body = self.body.clone();
        let mut stamped: Vec<(&str, String)> = match self.provider {
            Provider::GitHub => vec![(GITHUB_ID, delivery_id.to_owned())],
            Provider::StandardWebhooks => vec![(STANDARD_ID, delivery_id.to_owned())],
            Provider::Api => vec![(COMMAND_KEY, delivery_id.to_owned())],
            Provider::Stripe => {
                let value = serde_json::Value::from(delivery_id).to_string();
                body = json_member::replace(&body, "id", &value)?.into();
                vec![]
            }
        };
        if let Some((scheme, secret)) = &self.seal {
            let signature = scheme.sign(secret, delivery_id, at, &body);
            stamped.retain(|(name, _)| signature.iter().all(|(signed, _)| signed != name));
            stamped.extend(signature);
        }
        // A fixture may hold an id and a signature of its own: one header of each name is what a receiver accepts.
        let mut headers = Headers::new();
        for (name, value) in self.headers.iter().filter(|(name, _)| stamped.iter().all(|(other, _)| other != name)) {
            headers.push(name, value);
        }
        for (name, value) in stamped {
            headers.push(name, value);
        }
        Ok(SealedLetter { delivery_id: delivery_id.to_owned(), headers, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"whsec_test_secret";

    fn letter(provider: Provider, scheme: Scheme, fixture: &[u8], changes: &[Change]) -> Letter {
        let seal = Some((scheme, Secret::new(SECRET.to_vec())));
        Letter::of(provider, Fixture::parse(fixture).unwrap(), seal, changes).unwrap()
    }

    fn at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap()
    }

    #[test]
    fn a_github_letter_carries_its_id_in_a_header_once() {
        let file = b"X-GitHub-Event: push\nX-GitHub-Delivery: old\nX-Hub-Signature-256: sha256=00\n\n{ \"a\":1}\n";
        let sealed = letter(Provider::GitHub, Scheme::GitHub, file, &[]).seal("new", at()).unwrap();
        assert_eq!(sealed.body, &b"{ \"a\":1}\n"[..]);
        assert_eq!(sealed.headers.only_text("x-github-delivery"), Some("new"));
        assert_eq!(sealed.headers.only_text("x-github-event"), Some("push"));
        let expected = Scheme::GitHub.sign(&Secret::new(SECRET.to_vec()), "", at(), &sealed.body);
        assert_eq!(sealed.headers.only_text("x-hub-signature-256"), Some(expected[0].1.as_str()));
    }

    #[test]
    fn a_stripe_letter_carries_its_id_in_the_body_and_changes_nothing_else() {
        let file = b"a: b\n\n{\"id\": \"evt_old\",\"object\":\"event\" }\n";
        let sealed = letter(Provider::Stripe, Scheme::Stripe, file, &[]).seal("evt_test_webhook", at()).unwrap();
        assert_eq!(sealed.body, &b"{\"id\": \"evt_test_webhook\",\"object\":\"event\" }\n"[..]);
        // A vector that was calculated apart from this code (reference/providers.md B1, vector 2).
        let file = b"\n{\"id\":\"evt_old\",\"object\":\"event\"}";
        let sealed = letter(Provider::Stripe, Scheme::Stripe, file, &[]).seal("evt_test_webhook", at()).unwrap();
        let expected = "t=1700000000,v1=d95c6b7477fbd7e9f90b1b0ef5f9c7ac25abca5382460e0d988c2b2a5b71b990";
        assert_eq!(sealed.headers.only_text("stripe-signature"), Some(expected));
    }

    #[test]
    fn a_standard_webhooks_letter_is_signed_with_its_id() {
        let file = b"webhook-id: old\nwebhook-timestamp: 1\n\n{}";
        let letter = letter(Provider::StandardWebhooks, Scheme::StandardWebhooks, file, &[]);
        let sealed = letter.seal("msg_1", at()).unwrap();
        assert_eq!(sealed.headers.only_text("webhook-id"), Some("msg_1"));
        assert_eq!(sealed.headers.only_text("webhook-timestamp"), Some("1700000000"));
        let unsigned = Letter { seal: None, ..letter }.seal("msg_2", at()).unwrap();
        assert_eq!(unsigned.headers.only_text("webhook-id"), Some("msg_2"));
        assert_eq!(unsigned.headers.only("webhook-signature"), None);
    }

    #[test]
    fn a_command_carries_its_key_and_a_token_where_the_secret_cannot_sign() {
        let file = b"idempotency-key: old\nOncehook-Event: order.place\n\n{}";
        let sealed = letter(Provider::Api, Scheme::Api, file, &[]).seal("key-1", at()).unwrap();
        assert_eq!(sealed.headers.only_text("idempotency-key"), Some("key-1"));
        assert_eq!(sealed.headers.only_text("authorization"), Some("Bearer whsec_test_secret"));
        let seal = Some((Scheme::Api, Secret::new(b"whsec_dGVzdHMgb2Ygb25jZWhvb2sgdXNlIHRoaXM=".to_vec())));
        let signed = Letter::of(Provider::Api, Fixture::parse(file).unwrap(), seal, &[]).unwrap();
        let signed = signed.seal("key-2", at()).unwrap();
        assert_eq!(signed.headers.only_text("idempotency-key"), Some("key-2"));
        assert_eq!(signed.headers.only_text("webhook-id"), Some("key-2"));
        assert_eq!(signed.headers.only("authorization"), None);
    }

    #[test]
    fn changes_are_made_before_signing() {
        let changes = ["ref=refs/heads/x", "n=7", "list.0=\"8\""].map(|text| text.parse().unwrap());
        let letter = letter(Provider::GitHub, Scheme::GitHub, b"\n{\"ref\":\"a\", \"n\":1,\"list\":[2]}", &changes);
        assert_eq!(letter.seal("id", at()).unwrap().body, &br#"{"ref":"refs/heads/x", "n":7,"list":["8"]}"#[..]);
        let absent = Fixture::parse(b"\n{}").unwrap();
        assert!(Letter::of(Provider::GitHub, absent, None, &changes).is_err());
    }
}
