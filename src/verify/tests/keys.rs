//! From the text of a secret to its key.

use super::{GITHUB_KEY, STANDARD_KEY, Scheme};
use crate::verify::KeyError;

fn standard(text: &str) -> Result<Vec<u8>, KeyError> {
    Scheme::StandardWebhooks.decode_key(text).map(|secret| secret.expose().to_vec())
}

/// providers.md B1, C: one prefix, two meanings.
#[test]
fn whsec_is_part_of_the_key_for_stripe_and_not_for_standard_webhooks() {
    assert_eq!(Scheme::Stripe.decode_key(STANDARD_KEY).unwrap().expose(), STANDARD_KEY.as_bytes());
    assert_eq!(Scheme::GitHub.decode_key(GITHUB_KEY).unwrap().expose(), GITHUB_KEY.as_bytes());
    let key = standard(STANDARD_KEY).unwrap();
    assert_eq!(hex::encode(&key), "31f290f6bf06298aab4f08d43c3f082cf648a362da2da4b0");
    assert_eq!(standard(STANDARD_KEY.strip_prefix("whsec_").unwrap()), Ok(key));
}

#[test]
fn padding_may_be_left_out() {
    let padded = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGA==";
    let key = standard(padded).unwrap();
    assert_eq!(key, (0..=24).collect::<Vec<u8>>());
    assert_eq!(standard(padded.trim_end_matches('=')), Ok(key));
}

/// B001: what surrounds a secret is refused where it can be told.
#[test]
fn what_is_not_base64_is_refused() {
    for text in [
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
        " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_ MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwé",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=",
        "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGB==",
        "whsec_MfKQ9r8GKYqrTwjUPD8IL",
    ] {
        assert_eq!(standard(text), Err(KeyError::NotBase64), "{text:?}");
    }
}

#[test]
fn the_halves_of_a_key_pair_are_no_shared_secret() {
    for text in ["whpk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert_eq!(standard(text), Err(KeyError::Asymmetric));
    }
}

/// B023 and the empty-secret reports: an HMAC with a key that everybody knows proves nothing.
#[test]
fn a_short_key_is_refused_by_its_decoded_length() {
    for scheme in [Scheme::GitHub, Scheme::Stripe] {
        assert_eq!(scheme.decode_key("").unwrap_err(), KeyError::TooShort { bytes: 0 });
        assert_eq!(scheme.decode_key(&"x".repeat(15)).unwrap_err(), KeyError::TooShort { bytes: 15 });
        assert!(scheme.decode_key(&"x".repeat(16)).is_ok());
    }
    let prefixed = format!("whsec_{}", "x".repeat(15));
    assert_eq!(
        Scheme::Stripe.decode_key(&prefixed).unwrap_err(),
        KeyError::TooShort { bytes: 15 },
        "all know the prefix"
    );
    for text in ["", "whsec_"] {
        assert_eq!(standard(text), Err(KeyError::TooShort { bytes: 0 }));
    }
    assert_eq!(standard("AAECAwQFBgcICQoLDA0O"), Err(KeyError::TooShort { bytes: 15 }), "20 letters, 15 bytes");
    assert_eq!(standard("AAECAwQFBgcICQoLDA0ODw").map(|key| key.len()), Ok(16));
}

#[test]
fn a_refused_secret_is_not_repeated() {
    for text in ["canary", "whpk_canary", "whsec_canary-canary-canary"] {
        let error = Scheme::StandardWebhooks.decode_key(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
}
