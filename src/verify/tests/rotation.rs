//! Several secrets at once, and none.

use super::{GITHUB_KEY, NOW, Request, STANDARD_BASE64, STRIPE_HEX, V5_HEX, VerifyError, key, standard_key};
use crate::verify::signature_header;

fn all_schemes() -> [Request; 3] {
    [
        Request::github().with("X-Hub-Signature-256", format!("sha256={V5_HEX}")),
        Request::stripe().with("Stripe-Signature", format!("t={NOW},v1={STRIPE_HEX}")),
        Request::standard().with("webhook-signature", format!("v1,{STANDARD_BASE64}")),
    ]
}

#[test]
fn every_configured_secret_is_tried_and_the_one_that_matched_is_named() {
    for request in all_schemes() {
        let right = request.secrets[0].clone();
        for place in 0..4 {
            let mut secrets: Vec<_> = (0..3).map(|n| key(&format!("another-secret-{n}"))).collect();
            secrets.insert(place, right.clone());
            let verified = request.clone().secrets(secrets).verdict().unwrap();
            assert_eq!(&verified.secret, right.fingerprint(), "{:?} at {place}", request.scheme);
        }
        let others = (0..3).map(|n| key(&format!("another-secret-{n}")));
        assert_eq!(request.clone().secrets(others).verdict(), Err(VerifyError::SignatureMismatch));
    }
}

/// Fail closed: without a secret nothing is believed, signed or not (B020, B024).
#[test]
fn without_a_secret_nothing_verifies() {
    for request in all_schemes() {
        let signed = request.clone().secrets([]);
        assert_eq!(signed.verdict(), Err(VerifyError::NoSecret));
        let unsigned = Request { headers: Default::default(), ..signed };
        assert_eq!(unsigned.verdict(), Err(VerifyError::NoSecret));
    }
}

/// B023: no secret is magic. Config refuses such weak ones; if one gets here, it is a key as any other.
#[test]
fn magic_words_as_secrets_are_ordinary_keys() {
    for word in ["", "*", "***", "none", "null", "false", "disabled", "0", "insecure"] {
        for request in all_schemes() {
            let request = request.secrets([key(word)]);
            assert_eq!(request.outcome(), "signature_mismatch", "{word:?} {:?}", request.scheme);
            let unsigned = Request { headers: Default::default(), ..request };
            assert_eq!(unsigned.outcome(), "missing_signature", "{word:?}");
        }
    }
}

/// B004: every byte of a secret counts, also those that templates and shells like to change.
#[test]
fn a_secret_with_special_characters_is_used_byte_for_byte() {
    let text = r#"a=b'c"d<e>f&g\h$i#j%k"#;
    let request = Request::github().secrets([key(text)]).signed("");
    assert_eq!(request.outcome(), "accepted");
    for changed in
        [text.replace('=', "\\u003D"), text.replace("$i", ""), text.replace("#j%k", ""), text.replace('\\', "")]
    {
        assert_eq!(request.clone().secrets([key(&changed)]).outcome(), "signature_mismatch", "{changed}");
    }
}

/// B024
#[test]
fn a_request_that_somebody_signed_is_recognised_without_a_secret() {
    let names = ["x-hub-signature-256", "x-hub-signature", "stripe-signature", "webhook-signature", "svix-signature"];
    for name in names {
        let request = Request::github().with(&name.to_ascii_uppercase(), "anything");
        assert_eq!(signature_header(&request.headers), Some(name));
        let empty = Request::github().with(name, " ");
        assert_eq!(signature_header(&empty.headers), None, "{name} without a value is no signature");
    }
    let unsigned = Request::github().with("X-GitHub-Event", "push").with("webhook-id", "msg_1");
    assert_eq!(signature_header(&unsigned.headers), None);
}

/// One key, three schemes: what is right in one is nothing in another.
#[test]
fn a_signature_of_one_scheme_is_none_in_another() {
    let secrets = [key(GITHUB_KEY), standard_key()];
    for request in all_schemes() {
        for other in all_schemes() {
            if request.scheme != other.scheme {
                let crossed = Request { headers: request.headers.clone(), ..other }.secrets(secrets.clone());
                assert_eq!(crossed.outcome(), "missing_signature", "{:?} as {:?}", request.scheme, crossed.scheme);
            }
        }
    }
}
