//! Bodies that are validly signed and no usable JSON: flagged, never refused, never a panic.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use super::{
    super::{Identity, Provider, identify},
    flags, github, github_headers, key, stripe,
};
use crate::domain::Headers;

/// An issue event with a text to choose.
fn issue_with(title: &str) -> Identity {
    github("issues", format!(r#"{{"action":"opened","issue":{{"id":5,"title":{title}}}}}"#))
}

fn assert_still_read(identity: &Identity) {
    assert_eq!((identity.event_type.as_str(), key(identity)), ("issues.opened", Some("issue/5")));
}

/// B029: an empty body can be signed.
#[test]
fn an_empty_body_is_flagged() {
    let empty = github("push", "");
    assert_eq!(flags(&empty), ["unparseable: the body is empty"]);
    assert_eq!((empty.event_type.as_str(), empty.json()), ("push", None));
}

/// B035: what is no JSON is kept and said to be so.
#[test]
fn a_body_that_is_not_json_is_flagged() {
    for bad in ["hello", "{", "{\"a\":1}x", "{'a':1}", "nul", "\u{feff}{}", "{\"a\":\"\n\"}"] {
        let identity = github("push", bad);
        assert!(flags(&identity)[0].starts_with("unparseable: not JSON: "), "{bad}: {:?}", identity.flags);
        assert_eq!(identity.json(), None, "{bad}");
    }
    assert_eq!(flags(&github("push", "[1]")), ["the payload is no JSON object"]);
}

/// B035: a million brackets cost no stack.
#[test]
fn deep_nesting_is_flagged_and_the_rest_still_read() {
    let deep = issue_with(&format!("{}{}", "[".repeat(500_000), "]".repeat(500_000)));
    assert_still_read(&deep);
    assert_eq!(flags(&deep), ["unparseable: 128 levels deep at byte 169"]);
    assert_eq!(deep.json(), None);
    assert!(flags(&issue_with(&format!("{}{}", "[".repeat(125), "]".repeat(125)))).is_empty());
}

/// B087: vector V9, and a backslash that is none of it.
#[test]
fn a_nul_escape_is_flagged_and_stays_readable() {
    let body = Bytes::from_static(br#"{"a":"x\u0000y","b":"ok"}"#);
    let identity = stripe(body.clone());
    assert!(flags(&identity).contains(&"nul escape at byte 8: SQL cannot hold this text"));
    assert_eq!(identity.json(), Some(body), "to serde_json it is text as any other");
    assert!(flags(&issue_with(r#""C:\\u0000""#)).is_empty());
    let nul_in_key = github("push", r#"{"ref":"a\u0000b","repository":{"id":7}}"#);
    assert!(!key(&nul_in_key).unwrap().contains('\0'), "PostgreSQL's text cannot hold NUL");
}

/// B088: vector V10; a lone surrogate elsewhere loses nothing, in the key's own field it loses the key.
#[test]
fn a_lone_surrogate_is_flagged_and_the_rest_still_read() {
    assert!(flags(&stripe(r#"{"b":"\ud83d"}"#)).contains(&"unparseable: lone surrogate at byte 7"));
    let cut = issue_with(r#""cut \ud83d""#);
    assert_still_read(&cut);
    assert_eq!((flags(&cut), cut.json()), (vec!["unparseable: lone surrogate at byte 49"], None));
    let in_key = github("push", r#"{"\ude00":1,"ref":"\ud83d","repository":{"id":7}}"#);
    assert_eq!(key(&in_key), None);
    assert_eq!(
        flags(&in_key),
        [
            "unreadable field: ref",
            "unparseable: lone surrogate at byte 3",
            "no ordering key: the payload lacks ref/<repository.id>/<full ref>"
        ]
    );
}

/// B089: vector V11.
#[test]
fn invalid_utf_8_is_flagged_and_the_rest_still_read() {
    let identity = github("push", &b"{\"name\":\"H\xebllo}"[..]);
    assert_eq!(flags(&identity)[0], "unparseable: invalid UTF-8 at byte 11");
    let latin = github("issues", &b"{\"action\":\"opened\",\"issue\":{\"id\":5,\"title\":\"H\xebllo\"}}"[..]);
    assert_still_read(&latin);
    assert_eq!((flags(&latin), latin.json()), (vec!["unparseable: invalid UTF-8 at byte 46"], None));
}

#[test]
fn a_number_beyond_floating_point_is_flagged_and_the_rest_still_read() {
    let large = issue_with("1e200000");
    assert_still_read(&large);
    assert_eq!((flags(&large), large.json()), (vec!["unparseable: number out of range at byte 44"], None));
}

#[test]
fn of_a_repeated_key_the_last_one_counts_and_a_flag_says_so() {
    let twice = r#"{"action":"closed","action":"opened","issue":{"id":4},"issue":{"id":9,"id":5}}"#;
    let identity = github("issues", twice);
    assert_still_read(&identity);
    assert_eq!(flags(&identity), ["duplicate key: action", "duplicate key: id"]);
    assert_eq!(serde_json::from_str::<Value>(twice).unwrap()["action"], "opened", "as every reader has it");
    let hidden = github("issues", r#"{"\u0061ction":"closed","action":"opened","issue":{"id":5}}"#);
    assert_eq!(flags(&hidden), ["duplicate key: action"]);
}

#[test]
fn a_payload_cannot_make_many_flags_or_long_ones() {
    let key = "k".repeat(100_000);
    let hostile =
        github("issues", format!(r#"{{"{key}\u001b[2J":1,"{key}\u001b[2J":2,"x":1e999,"y":"\u0000\ud800"}}"#));
    assert!(hostile.flags.len() <= 16 && hostile.flags.iter().all(|flag| flag.as_str().len() <= 200));
    assert!(hostile.flags.iter().all(|flag| !flag.as_str().contains('\u{1b}')));
}

/// Texts that look like JSON, and often are.
fn almost_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "0",
            "-1",
            "1e999",
            "1E-999",
            "0.5",
            "\"\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\ude00\"",
            "\"\\udc00\\u0000\"",
            "\"\\\\u0000\"",
            "\"a\u{1}\"",
            "\"\\q\"",
            "01",
            "\"é\"",
            "\"2024-01-01T00:00:00Z\"",
            "{]",
            "",
        ])
        .prop_map(str::to_owned),
        "[0-9]{1,320}",
        (100..140_usize).prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
    ];
    let keys = prop::sample::select(vec![
        "action",
        "issue",
        "id",
        "updated_at",
        "\\ud83d",
        "a\u{1}",
        "a\\u0000",
        "type",
        "data",
        "object",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(", "))),
            prop::collection::vec((keys.clone(), inner), 0..4).prop_map(|members| {
                let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    /// What is called usable is what `serde_json` takes, and everything else is flagged.
    #[test]
    fn usable_is_what_serde_json_takes(body in almost_json()) {
        let is_usable = serde_json::from_str::<Value>(&body).is_ok();
        for identity in [github("issues", body.clone()), stripe(body.clone())] {
            prop_assert_eq!(identity.json().is_some(), is_usable, "{:?}", identity.flags);
            prop_assert_eq!(!flags(&identity).iter().any(|flag| flag.starts_with("unparseable: ")), is_usable);
        }
    }

    /// B106, B050: any bytes at all, and the same answer twice.
    #[test]
    fn any_request_is_identified_or_refused_and_always_alike(
        body in prop::collection::vec(any::<u8>(), 0..200),
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 5),
    ) {
        let names = ["X-GitHub-Delivery", "X-GitHub-Event", "X-GitHub-Hook-ID", "Content-Type", "webhook-id"];
        let headers: Headers = names.into_iter().zip(values).collect();
        let body = Bytes::from(body);
        for provider in Provider::ALL {
            prop_assert_eq!(identify(provider, &headers, &body), identify(provider, &headers, &body));
        }
        let known = github_headers("push");
        prop_assert!(identify(Provider::GitHub, &known, &body).is_ok());
    }
}
