//! The signer against the published vectors, and against the verifier.

use super::{
    GITHUB_KEY, NOW, Request, STANDARD_BASE64, STANDARD_BODY, STANDARD_ID, STANDARD_SECONDS, STRIPE_BODY, STRIPE_HEX,
    STRIPE_KEY, Scheme, V5, V5_HEX, at, key, standard_key,
};

#[test]
fn the_signer_makes_the_published_vectors() {
    assert_eq!(
        Scheme::GitHub.sign(&key(GITHUB_KEY), "ignored", at(NOW), V5),
        [("x-hub-signature-256", format!("sha256={V5_HEX}"))]
    );
    assert_eq!(
        Scheme::Stripe.sign(&key(STRIPE_KEY), "ignored", at(NOW), STRIPE_BODY),
        [("stripe-signature", format!("t=1700000000,v1={STRIPE_HEX}"))]
    );
    assert_eq!(
        Scheme::StandardWebhooks.sign(&standard_key(), STANDARD_ID, at(STANDARD_SECONDS), STANDARD_BODY),
        [
            ("webhook-id", STANDARD_ID.to_owned()),
            ("webhook-timestamp", STANDARD_SECONDS.to_string()),
            ("webhook-signature", format!("v1,{STANDARD_BASE64}")),
        ]
    );
}

/// B041: a second attempt ten minutes later needs a signature of its own; id and body stay.
#[test]
fn each_attempt_needs_a_signature_of_its_own_time() {
    for scheme in [Scheme::Stripe, Scheme::StandardWebhooks] {
        let first = Request::new(scheme, standard_key(), NOW, V5).signed("dlv_1");
        assert_eq!(first.outcome(), "accepted");
        let later = Request { now: at(NOW + 600), ..first };
        assert_eq!(later.outcome(), "stale_timestamp", "{scheme:?}");
        let again = Request { headers: Default::default(), ..later }.signed("dlv_1");
        assert_eq!(again.outcome(), "accepted", "{scheme:?}");
    }
}

#[test]
fn a_signer_can_lie_about_the_id_and_is_not_believed() {
    for id in ["", "a.b", "a b"] {
        let request = Request::new(Scheme::StandardWebhooks, standard_key(), NOW, V5).signed(id);
        assert!(request.verdict().is_err(), "{id:?}");
    }
}
