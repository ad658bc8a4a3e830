//! What a refusal tells: enough for the operator, nothing for a forger.

use super::{NOW, Request, STRIPE_HEX, V5_HEX, VerifyError};

const EVERY_ERROR: [VerifyError; 18] = [
    VerifyError::NoSecret,
    VerifyError::MissingSignature { header: "x-hub-signature-256" },
    VerifyError::MissingHeader { header: "webhook-id" },
    VerifyError::EmptyHeader { header: "stripe-signature" },
    VerifyError::RepeatedHeader { header: "stripe-signature" },
    VerifyError::MixedHeaders,
    VerifyError::MalformedHeader { header: "stripe-signature", expected: "something else" },
    VerifyError::Sha1Only,
    VerifyError::NoSupportedSignature { header: "stripe-signature" },
    VerifyError::TooManySignatures { header: "stripe-signature" },
    VerifyError::TooOld { off_seconds: 301, allowed_seconds: 300 },
    VerifyError::TooFarAhead { off_seconds: 301, allowed_seconds: 300 },
    VerifyError::MissingToken,
    VerifyError::MixedProofs,
    VerifyError::TokenMismatch,
    VerifyError::UnsignedKey,
    VerifyError::OtherReceipt,
    VerifyError::SignatureMismatch,
];

#[test]
fn every_refusal_has_a_label_of_its_own_and_a_sentence() {
    let labels: std::collections::BTreeSet<_> = EVERY_ERROR.iter().map(VerifyError::reason).collect();
    assert_eq!(labels.len(), EVERY_ERROR.len());
    for error in EVERY_ERROR {
        assert!(error.reason().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        assert!(error.to_string().len() > 20 && !error.to_string().contains('\n'), "{error}");
    }
    let old = VerifyError::TooOld { off_seconds: 301, allowed_seconds: 300 }.to_string();
    assert!(old.contains("301 s old and 300 s are allowed"), "{old}");
}

/// B025: neither the right digest, nor the one that was sent, nor the secret is in any text we make.
#[test]
fn no_text_holds_a_digest_or_a_secret() {
    let forged = "f00dfeed".repeat(8);
    let requests = [
        Request::github().with("X-Hub-Signature-256", format!("sha256={forged}")),
        Request::github().with("X-Hub-Signature-256", format!("sha256={forged}f")),
        Request::stripe().with("Stripe-Signature", format!("t={NOW},v1={forged}")),
        Request::stripe().with("Stripe-Signature", format!("t=1,v1={forged}")),
        Request::stripe().with("Stripe-Signature", format!("v0={forged}")),
        Request::standard().with("webhook-signature", format!("v1,{forged}")),
        Request::standard().with("webhook-signature", format!("v1,{forged}AA= v2,{forged}")),
    ];
    for request in requests {
        let begun =
            crate::verify::begin(request.scheme, &request.secrets, super::TOLERANCE, &request.headers, request.now);
        let error = request.verdict().unwrap_err();
        let told = format!("{begun:?} {error} {error:?} {}", error.reason());
        for hidden in ["f00dfeed", V5_HEX, STRIPE_HEX, "ghsecret", "whsec_test", "MfKQ9r8G", "f0, 0d", "240, 13"] {
            assert!(!told.contains(hidden), "{told} tells {hidden}");
        }
    }
}

/// A forger learns nothing about which of several secrets or signatures came near.
#[test]
fn all_mismatches_are_alike() {
    let near = format!("{}{}", &V5_HEX[..63], if V5_HEX.ends_with('0') { '1' } else { '0' });
    let far = "0".repeat(64);
    for digits in [near, far] {
        let request = Request::github().with("X-Hub-Signature-256", format!("sha256={digits}"));
        assert_eq!(request.verdict(), Err(VerifyError::SignatureMismatch));
    }
}
