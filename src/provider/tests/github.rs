//! GitHub: what its headers and payloads say.

use bytes::Bytes;

use super::{
    super::{IdentifyError, PayloadForm, Provider, identify},
    flags, github, github_headers, key, time,
};
use crate::domain::{DeliveryIdError, Headers};

fn headers_with_id(id: impl Into<Vec<u8>>) -> Headers {
    [("X-GitHub-Event", b"push".to_vec()), ("X-GitHub-Delivery", id.into())].into_iter().collect()
}

fn identify_push(headers: &Headers) -> Result<super::Identity, IdentifyError> {
    identify(Provider::GitHub, headers, &Bytes::from_static(b"{}"))
}

#[test]
fn a_push_and_the_creation_and_deletion_of_its_branch_wait_for_one_another() {
    let push = github("push", r#"{"ref":"refs/heads/a/b","repository":{"id":7}}"#);
    assert_eq!(key(&push), Some("ref/7/refs/heads/a/b"));
    for event in ["create", "delete"] {
        let other = github(event, r#"{"ref":"a/b","ref_type":"branch","repository":{"id":7}}"#);
        assert_eq!(other.ordering_key, push.ordering_key);
        let tag = github(event, r#"{"ref":"a/b","ref_type":"tag","repository":{"id":7}}"#);
        assert_eq!(key(&tag), Some("ref/7/refs/tags/a/b"));
    }
}

#[test]
fn different_things_never_share_an_ordering_key() {
    let status = |sha: &str, context: &str| {
        github("status", format!(r#"{{"sha":"{sha}","context":"{context}","repository":{{"id":7}}}}"#)).ordering_key
    };
    assert_ne!(status("a/b", "c"), status("a", "b/c"));
    assert_ne!(status("a%2Fb", "c"), status("a/b", "c"));
    let issue = github("issues", r#"{"action":"opened","issue":{"id":1}}"#);
    let request = github("pull_request", r#"{"action":"opened","pull_request":{"id":1}}"#);
    assert_ne!(issue.ordering_key, request.ordering_key);
}

#[test]
fn commands_have_no_ordering_key_and_no_flag() {
    for event in ["workflow_dispatch", "repository_dispatch"] {
        let command = github(event, r#"{"repository":{"id":7}}"#);
        assert_eq!((key(&command), flags(&command)), (None, Vec::new()));
    }
}

#[test]
fn an_event_of_next_year_is_ordered_by_its_repository_and_flagged() {
    let known = github("from_the_future", r#"{"action":"begun","repository":{"id":7}}"#);
    assert_eq!(known.event_type.as_str(), "from_the_future.begun");
    assert_eq!(key(&known), Some("repository/7"));
    assert_eq!(flags(&known), ["event not in the table: from_the_future"]);
    assert_eq!(key(&github("from_the_future", "{}")), None);
}

#[test]
fn the_next_path_is_asked_where_a_time_is_null_or_the_year_one() {
    let star = github("star", r#"{"starred_at":null,"repository":{"id":1,"updated_at":"2019-05-15T15:20:18Z"}}"#);
    assert_eq!(time(&star).as_deref(), Some("repository.updated_at 2019-05-15T15:20:18+00:00"));
    let package =
        r#"{"package":{"id":1,"updated_at":"0001-01-01T00:00:00Z","package_version":{"updated_at":1557933657}}}"#;
    let package = github("package", package);
    assert_eq!(time(&package).as_deref(), Some("package.package_version.updated_at 2019-05-15T15:20:57+00:00"));
    assert!(flags(&package).is_empty());
    let odd = github("issues", r#"{"issue":{"id":1,"updated_at":"soon"}}"#);
    assert_eq!((time(&odd), flags(&odd)), (None, vec!["unreadable time: issue.updated_at"]));
}

#[test]
fn an_id_larger_than_any_integer_is_read_digit_by_digit() {
    let large = github("issues", r#"{"issue":{"id":340282366920938463463374607431768211457}}"#);
    assert_eq!(key(&large), Some("issue/340282366920938463463374607431768211457"));
}

#[test]
fn a_request_without_one_usable_delivery_id_is_refused() {
    let header = "X-GitHub-Delivery";
    assert_eq!(identify_push(&Headers::new()), Err(IdentifyError::DeliveryIdMissing { header }));
    let mut twice = headers_with_id("1");
    twice.push(header, "1");
    assert_eq!(identify_push(&twice), Err(IdentifyError::DeliveryIdRepeated { header }));
    // B106: bytes beyond ASCII in a header.
    for bad in ["é".as_bytes(), &[0xff], b"a b", b"a\tb"] {
        let why = DeliveryIdError::NotVisibleAscii;
        assert_eq!(identify_push(&headers_with_id(bad)), Err(IdentifyError::DeliveryIdUnusable { header, why }));
    }
}

/// B099: PostgreSQL's index rows end at 2704 bytes.
#[test]
fn a_delivery_id_fits_into_an_index_or_is_refused() {
    for (length, is_taken) in [(0, false), (1, true), (255, true), (256, false), (2_704, false), (8_000, false)] {
        assert_eq!(identify_push(&headers_with_id(vec![b'x'; length])).is_ok(), is_taken, "{length}");
    }
}

/// B099: long keys with a common beginning stay apart.
#[test]
fn long_refs_make_short_and_different_ordering_keys() {
    let push = |name: &str| github("push", format!(r#"{{"ref":"refs/heads/{name}","repository":{{"id":7}}}}"#));
    let long = "x".repeat(8_000);
    let (one, other) = (push(&format!("{long}1")), push(&format!("{long}2")));
    assert_ne!(one.ordering_key, other.ordering_key);
    assert!(key(&one).unwrap().len() <= 255 && key(&other).unwrap().len() <= 255);
    assert!(github(&"e".repeat(3_000), "{}").event_type.as_str().len() <= 128);
}

/// B106: no header value is a reason to fail, save the id's.
#[test]
fn odd_bytes_in_other_headers_are_no_error() {
    for value in ["é".as_bytes(), &[0xff, 0xfe], b"\t", b"", &[b'x'; 16_384]] {
        let mut headers = headers_with_id("1");
        for name in ["User-Agent", "Cookie", "X-Forwarded-For", "X-GitHub-Hook-ID", "Content-Type"] {
            headers.push(name, value);
        }
        let identity = identify_push(&headers).unwrap();
        assert_eq!((identity.hook_id.as_deref(), identity.event_type.as_str()), (None, "push"));
        assert!(flags(&identity).contains(&"unreadable header: X-GitHub-Hook-ID"));
    }
    let mut headers = headers_with_id("1");
    headers.push("X-GitHub-Event", &b"push"[..]);
    assert_eq!(identify_push(&headers).unwrap().event_type.as_str(), "unknown", "two names are none");
    let headers = [("X-GitHub-Delivery", &b"1"[..]), ("X-GitHub-Event", b"pu\xffsh\x1b[2J")].into_iter().collect();
    assert_eq!(identify_push(&headers).unwrap().event_type.as_str(), "pu?sh?[2J");
}

#[test]
fn the_hook_is_named_where_the_header_does() {
    let mut headers = headers_with_id("1");
    assert_eq!(identify_push(&headers).unwrap().hook_id, None);
    headers.push("x-github-hook-id", "518840233");
    assert_eq!(identify_push(&headers).unwrap().hook_id.as_deref(), Some("518840233"));
}

#[test]
fn a_form_needs_its_payload_field_and_what_begins_with_a_brace_is_no_form() {
    let mut headers = github_headers("push");
    headers.push("Content-Type", "Application/X-WWW-Form-Urlencoded; charset=utf-8");
    let identify = |body: &'static [u8]| identify(Provider::GitHub, &headers, &Bytes::from_static(body));
    for body in [&b"a=b"[..], b"", b"payloads=%7B%7D"] {
        assert_eq!(identify(body), Err(IdentifyError::PayloadFieldMissing));
    }
    let twice = identify(b"payload=%7B%7D&payload=%7B%7D").unwrap();
    assert_eq!(flags(&twice), ["unparseable: the form field payload stands more than once"]);
    assert_eq!(twice.payload, PayloadForm::Opaque);
    let posted_by_curl = identify(br#"{"ref":"refs/heads/x","repository":{"id":7}}"#).unwrap();
    assert_eq!(key(&posted_by_curl), Some("ref/7/refs/heads/x"));
    let garbage = identify(b"payload=%00%ff").unwrap();
    assert_eq!(flags(&garbage)[0], "unparseable: invalid UTF-8 at byte 2");
}

/// B008: text of every script is text.
#[test]
fn emoji_and_right_to_left_text_are_left_alone() {
    let body = Bytes::from(
        "{\"ref\":\"refs/heads/\u{5d0}\u{1f680}\",\"commits\":[{\"message\":\"e\u{301} \u{2028} \\ud83d\\ude80\"}],\"repository\":{\"id\":7}}",
    );
    let push = github("push", body.clone());
    assert_eq!(key(&push), Some("ref/7/refs/heads/\u{5d0}\u{1f680}"));
    assert!(flags(&push).is_empty());
    assert_eq!(push.json(), Some(body));
}

/// B050: the identity depends on the request and on nothing else.
#[test]
fn the_same_request_always_has_the_same_identity() {
    let (headers, body) = (github_headers("push"), Bytes::from_static(br#"{"ref":"x","repository":{"id":1}}"#));
    let mut again = headers.clone();
    again.push("X-Forwarded-For", "192.0.2.7");
    assert_eq!(identify(Provider::GitHub, &headers, &body), identify(Provider::GitHub, &again, &body));
}
