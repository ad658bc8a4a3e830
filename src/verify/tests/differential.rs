//! A second opinion: the `standardwebhooks` crate, which reads the same headers by its own rules and its own clock.
//!
//! We are stricter where it is lenient; `our_own_rules` lists in what. Everything else must come out alike.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use standardwebhooks::Webhook;

use super::{super::presented::SIGNATURES_MAX, Request, Scheme};
use crate::{clock::Clock, domain::Secret};

const KEY: &[u8] = b"a key of 24 random bytes";
const NAMES: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// A request at the system's time, for the crate asks the system.
fn unsigned(body: &str) -> Request {
    let now = Clock::system().now();
    Request::new(Scheme::StandardWebhooks, Secret::new(KEY.to_vec()), now.timestamp(), body.as_bytes())
}

/// What the crate says; `None` where the headers cannot even be put into its map.
fn their_verdict(request: &Request) -> Option<bool> {
    let mut map = HeaderMap::new();
    for (name, value) in request.headers.iter() {
        map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value).ok()?);
    }
    let theirs = Webhook::from_bytes(KEY.to_vec()).unwrap();
    Some(theirs.verify(&request.body, &map).is_ok())
}

/// Whether a request breaks a rule that we have and the crate has not: headers that stand twice (it takes the first), ids
/// that are empty or hold dots or spaces, timestamps with a sign or leading zeros, lists beyond [`SIGNATURES_MAX`].
fn our_own_rules(request: &Request) -> bool {
    let values = |name| request.headers.all(name).collect::<Vec<_>>();
    let repeated = NAMES.into_iter().any(|name| values(name).len() > 1);
    let id = values("webhook-id").first().copied().unwrap_or_default();
    let odd_id = id.is_empty() || id.contains(&b'.') || id.len() > 255 || !id.iter().all(u8::is_ascii_graphic);
    let seconds = values("webhook-timestamp").first().copied().unwrap_or_default();
    let odd_seconds = seconds.starts_with(b"+") || seconds.starts_with(b"-") || seconds.starts_with(b"0");
    let list = values("webhook-signature").concat();
    let long = list.split(|byte| *byte == b' ').filter(|part| part.starts_with(b"v1,")).count() > SIGNATURES_MAX;
    repeated || odd_id || odd_seconds || long
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn what_the_crate_signs_we_accept(id in "[!-\\-/-~]{1,60}", off in -290_i64..=290, body in any::<String>()) {
        let request = unsigned(&body);
        let seconds = request.now.timestamp() + off;
        let theirs = Webhook::from_bytes(KEY.to_vec()).unwrap().sign(&id, seconds, body.as_bytes()).unwrap();
        let request = request
            .with("webhook-id", id.as_str())
            .with("webhook-timestamp", seconds.to_string())
            .with("webhook-signature", theirs);
        let signed_id = request.verdict().unwrap().signed_id.unwrap();
        prop_assert_eq!(signed_id.as_str(), id);
    }

    #[test]
    fn what_we_sign_the_crate_accepts(id in "[!-~]{1,60}", off in -290_i64..=290, body in any::<String>()) {
        let request = unsigned(&body);
        let then = request.now + chrono::TimeDelta::seconds(off);
        let signed = Request { now: then, ..request }.signed(&id);
        prop_assert_eq!(their_verdict(&signed), Some(true));
    }

    /// Any change of any header, and the whole range of times, without the seconds in which the two clocks may differ.
    #[test]
    fn on_changed_headers_both_agree_but_for_our_own_rules(
        off in prop_oneof![
            8 => -290_i64..=290,
            1 => 310_i64..=100_000,
            1 => -100_000_i64..=-310,
        ],
        changes in prop::collection::vec(change(), 0..3),
        body in "[a-z]{0,20}",
    ) {
        let request = unsigned(&body);
        let then = request.now + chrono::TimeDelta::seconds(off);
        let signed = Request { now: then, ..request.clone() }.signed("msg_1");
        let mut lines: Vec<(String, Vec<u8>)> =
            signed.headers.iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
        changes.iter().for_each(|change| change.apply(&mut lines));
        let request = Request { headers: lines.into_iter().collect(), ..request };

        let ours = request.verdict().is_ok();
        if let Some(theirs) = their_verdict(&request) {
            prop_assert!(theirs || !ours, "we must never accept more: {:?}", request.headers.to_wire());
            prop_assert!(ours == theirs || our_own_rules(&request), "{:?}", String::from_utf8_lossy(&request.headers.to_wire()));
        }
    }
}

/// One thing done to the header lines of a request.
#[derive(Debug, Clone)]
enum Change {
    Drop(prop::sample::Index),
    Repeat(prop::sample::Index),
    Splice {
        line: prop::sample::Index,
        place: prop::sample::Index,
        cut: usize,
        put: Vec<u8>,
    },
    /// Signatures and other elements around the one that is there.
    Surround {
        before: Vec<Vec<u8>>,
        after: Vec<Vec<u8>>,
    },
}

impl Change {
    fn apply(&self, lines: &mut Vec<(String, Vec<u8>)>) {
        if lines.is_empty() {
            return;
        }
        match self {
            Self::Drop(line) => drop(lines.remove(line.index(lines.len()))),
            Self::Repeat(line) => lines.push(lines[line.index(lines.len())].clone()),
            Self::Splice { line, place, cut, put } => {
                let line = line.index(lines.len());
                let value = &mut lines[line].1;
                let start = place.index(value.len() + 1);
                let end = (start + cut).min(value.len());
                value.splice(start..end, put.iter().copied());
            }
            Self::Surround { before, after } => {
                for (_, value) in lines.iter_mut().filter(|(name, _)| name == "webhook-signature") {
                    let list = [before.as_slice(), std::slice::from_ref(value), after.as_slice()].concat();
                    *value = list.join(&b' ');
                }
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let index = || any::<prop::sample::Index>();
    let put = prop_oneof![
        prop::sample::select(vec![
            &b" "[..],
            b",",
            b".",
            b"v1,",
            b"v1a,",
            b"=",
            b"+",
            b"0",
            b"\t",
            b"\xe9",
            b"A",
            b"1"
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    let elements = || prop::collection::vec(element(), 0..10);
    prop_oneof![
        1 => index().prop_map(Change::Drop),
        1 => index().prop_map(Change::Repeat),
        6 => (index(), index(), 0_usize..3, put)
            .prop_map(|(line, place, cut, put)| Change::Splice { line, place, cut, put }),
        4 => (elements(), elements()).prop_map(|(before, after)| Change::Surround { before, after }),
    ]
}

/// One element of a list of signatures: well formed, of another version, or broken.
fn element() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<[u8; 32]>().prop_map(|bytes| format!("v1,{}", BASE64_STANDARD.encode(bytes)).into_bytes()),
        prop::sample::select(vec![&b"v1,"[..], b"v1", b"", b",", b"v1a,AAAA", b"v2,AAAA", b"v1,AAAA", b"v1,v1,v1"])
            .prop_map(<[u8]>::to_vec),
    ]
}
