//! For all headers, bodies and secrets: nothing panics, nothing is believed without a right signature.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use proptest::prelude::*;

use super::{NOW, Request, Scheme, hmac_by_hand};
use crate::domain::{Headers, Secret};

fn schemes() -> impl Strategy<Value = Scheme> {
    prop_oneof![Just(Scheme::GitHub), Just(Scheme::Stripe), Just(Scheme::StandardWebhooks)]
}

fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "X-Hub-Signature-256",
        "X-Hub-Signature",
        "Stripe-Signature",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "svix-id",
        "svix-timestamp",
        "svix-signature",
    ])
}

/// Pieces of which right and nearly right headers are made. Pairs of a separator and a token often enough make a list.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&[u8]> = vec![
        b"t=",
        b"v1=",
        b"v0=",
        b"v1,",
        b"v1a,",
        b"sha256=",
        b"sha1=",
        b"SHA256=",
        b",",
        b", ",
        b" ",
        b"=",
        b"\t",
        b".",
        b"+",
        b"-",
        b"0",
        b"1700000000",
        b"1700000301",
        b"1699999699",
        b"9223372036854775807",
        b"msg_1",
        b"\xe9",
        "é".as_bytes(),
        b"\0",
        b"\xff",
    ];
    prop_oneof![
        6 => prop::sample::select(fixed).prop_map(<[u8]>::to_vec),
        1 => "[0-9a-fA-F]{64}".prop_map(String::into_bytes),
        1 => any::<[u8; 32]>().prop_map(|bytes| BASE64_STANDARD.encode(bytes).into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => prop::collection::vec(pieces(), 0..12).prop_map(|pieces| pieces.concat()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn any_headers() -> impl Strategy<Value = Headers> {
    prop::collection::vec((names(), values()), 0..6).prop_map(|lines| lines.into_iter().collect())
}

fn any_secret() -> impl Strategy<Value = Secret> {
    prop::collection::vec(any::<u8>(), 0..=64).prop_map(Secret::new)
}

/// A request whose headers are right, made without the signer: a list with the right signature at any place among
/// others, and with harmless variations of form.
fn right_request() -> impl Strategy<Value = Request> {
    let body = prop::collection::vec(any::<u8>(), 0..300);
    let noise = prop::collection::vec(any::<[u8; 32]>(), 0..4);
    (schemes(), any_secret(), -300_i64..=300, body, noise, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(scheme, secret, off, body, noise, place, upper)| {
            let seconds = NOW + off;
            let prefix = match scheme {
                Scheme::GitHub => String::new(),
                Scheme::Stripe => format!("{seconds}."),
                Scheme::StandardWebhooks | Scheme::Api => format!("msg_1.{seconds}."),
            };
            let right = hmac_by_hand(secret.expose(), &[prefix.as_bytes(), &body].concat());
            let in_hex = |bytes: &[u8; 32]| if upper { hex::encode_upper(bytes) } else { hex::encode(bytes) };
            let mut list = noise;
            list.insert(place.index(list.len() + 1), right);
            let request = Request::new(scheme, secret, NOW, &body);
            match scheme {
                Scheme::GitHub => request.with("X-Hub-Signature-256", format!("sha256={}", in_hex(&right))),
                Scheme::Stripe => {
                    let list: Vec<String> = list.iter().map(|bytes| format!("v1={}", in_hex(bytes))).collect();
                    let separator = if upper { ", " } else { "," };
                    request.with("Stripe-Signature", format!("t={seconds}{separator}{}", list.join(separator)))
                }
                Scheme::StandardWebhooks | Scheme::Api => {
                    let list: Vec<String> =
                        list.iter().map(|bytes| format!("v1,{}", BASE64_STANDARD.encode(bytes))).collect();
                    let family = if upper { "svix" } else { "webhook" };
                    request
                        .with(&format!("{family}-id"), "msg_1")
                        .with(&format!("{family}-timestamp"), seconds.to_string())
                        .with(&format!("{family}-signature"), list.join(" "))
                }
            }
        },
    )
}

/// Whether any 32 bytes that the headers spell, in hex or base64, are the MAC that we calculate ourselves over what the
/// headers say is signed: the independent half of "accepted means that the signature is right".
fn holds_a_right_signature(request: &Request) -> bool {
    let text = |name: &str| request.headers.only_text(name).unwrap_or_default().to_owned();
    let (prefix, list) = match request.scheme {
        Scheme::GitHub => (String::new(), text("x-hub-signature-256")),
        Scheme::Stripe => {
            let list = text("stripe-signature");
            let start = list.find("t=").map_or(list.len(), |place| place + 2);
            let seconds: String = list[start..].chars().take_while(char::is_ascii_digit).collect();
            (format!("{seconds}."), list)
        }
        Scheme::StandardWebhooks | Scheme::Api => {
            let family = if request.headers.only("svix-id").is_some() { "svix" } else { "webhook" };
            let named = |what: &str| text(&format!("{family}-{what}"));
            (format!("{}.{}.", named("id"), named("timestamp")), named("signature"))
        }
    };
    let message = [prefix.as_bytes(), &request.body].concat();
    request.secrets.iter().map(|secret| hmac_by_hand(secret.expose(), &message)).any(|right| {
        list.to_ascii_lowercase().contains(&hex::encode(right)) || list.contains(&BASE64_STANDARD.encode(right))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_header_panics_and_none_verifies_by_chance(
        scheme in schemes(),
        secrets in prop::collection::vec(any_secret(), 0..3),
        headers in any_headers(),
        body in prop::collection::vec(any::<u8>(), 0..64),
        tolerance in any::<u64>(),
    ) {
        let mut request = Request::github().secrets(secrets).body(&body);
        (request.scheme, request.headers, request.tolerance) = (scheme, headers, Duration::from_secs(tolerance));
        prop_assert!(request.verdict().is_err(), "{:?}", request.headers.to_wire());
    }

    #[test]
    fn a_right_request_is_believed(request in right_request()) {
        prop_assert!(holds_a_right_signature(&request));
        let verified = request.verdict();
        prop_assert_eq!(&verified.unwrap().secret, request.secrets[0].fingerprint());
    }

    /// Right requests with some bytes of their headers changed: many stay right, and exactly then are they believed.
    #[test]
    fn what_is_believed_holds_a_right_signature(
        request in right_request(),
        line in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        piece in pieces(),
        cut in 0_usize..3,
    ) {
        let changed = line.index(request.headers.len());
        let headers = request.headers.iter().enumerate().map(|(number, (name, value))| {
            let mut value = value.to_vec();
            if number == changed {
                let start = place.index(value.len() + 1);
                let end = (start + cut).min(value.len());
                value.splice(start..end, piece.iter().copied());
            }
            (name, value)
        });
        let request = Request { headers: headers.collect(), ..request.clone() };
        if request.verdict().is_ok() {
            prop_assert!(holds_a_right_signature(&request), "{:?}", request.headers.to_wire());
        }
    }

    #[test]
    fn one_changed_bit_of_the_body_is_enough(
        request in right_request(),
        place in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let mut body = request.body.clone();
        prop_assume!(!body.is_empty());
        let at = place.index(body.len());
        body[at] ^= 1 << bit;
        prop_assert_eq!(request.body(&body).outcome(), "signature_mismatch");
    }

    #[test]
    fn how_the_body_is_cut_does_not_matter(
        request in right_request(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        spoil in any::<bool>(),
    ) {
        let request = if spoil { request.secrets([Secret::new(b"another".to_vec())]) } else { request };
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(request.body.len() + 1)).collect();
        places.extend([0, request.body.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &request.body[pair[0]..pair[1]]).collect();
        prop_assert_eq!(request.verdict_in_chunks(&chunks), request.verdict());
    }
}
