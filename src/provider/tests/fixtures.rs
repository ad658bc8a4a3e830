//! The project's own fixtures: each says what its name says, and keeps its identity under mutation.

use std::path::Path;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{super::PayloadForm, flags, github_headers, key, time};
use crate::{
    domain::Headers,
    provider::{Identity, Provider, identify},
};

/// Every fixture: provider, name, ordering key, event time.
const FIXTURES: [(&str, &str, Option<&str>, &str); 13] = [
    ("github", "push", Some("ref/771204418/refs/heads/main"), "repository.pushed_at 2026-11-20T09:14:02+00:00"),
    (
        "github",
        "pull_request.opened",
        Some("pull_request/2190047716"),
        "pull_request.updated_at 2026-11-20T11:02:10+00:00",
    ),
    (
        "github",
        "pull_request.synchronize",
        Some("pull_request/2190047716"),
        "pull_request.updated_at 2026-11-20T11:31:44+00:00",
    ),
    ("github", "issues.opened", Some("issue/2705118930"), "issue.updated_at 2026-11-20T12:45:03+00:00"),
    ("github", "ping", Some("hook/518840233"), "hook.updated_at 2026-11-20T08:59:30+00:00"),
    ("github", "release.published", Some("release/187003391"), "release.updated_at 2026-11-20T14:00:21+00:00"),
    (
        "github",
        "workflow_run.completed",
        Some("workflow_run/11940276015"),
        "workflow_run.updated_at 2026-11-20T09:19:52+00:00",
    ),
    (
        "github",
        "check_run.completed",
        Some("check_run/33271109846"),
        "check_run.completed_at 2026-11-20T09:18:40+00:00",
    ),
    ("stripe", "invoice.paid", Some("in_1QNharbourTide0001"), "created 2026-11-20T10:20:10+00:00"),
    ("stripe", "customer.subscription.updated", Some("sub_1QNharbourTide0001"), "created 2026-11-20T10:20:09+00:00"),
    ("stripe", "charge.succeeded", Some("ch_3QNharbourTide0001"), "created 2026-11-20T10:20:08+00:00"),
    ("stripe", "v2.core.event", Some("mtr_test_61QharbourMeter"), "created 2026-11-20T10:20:11.482+00:00"),
    ("standard_webhooks", "message.created", Some("data/note_8841"), "timestamp 2026-11-20T10:30:00.125+00:00"),
];

/// Reads a fixture as fixtures/README.md describes it.
fn load(provider: &str, name: &str) -> (Headers, Bytes) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{provider}/{name}.http"));
    let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let blank = file.windows(2).position(|pair| pair == b"\n\n").expect("a blank line ends the headers");
    (Headers::from_wire(&file[..blank]), Bytes::copy_from_slice(&file[blank + 2..]))
}

fn identity_of(provider: &str, headers: &Headers, body: &Bytes) -> Identity {
    identify(provider.parse::<Provider>().unwrap(), headers, body).unwrap()
}

#[test]
fn every_fixture_is_the_event_that_its_name_says() {
    for (provider, name, ordering_key, event_time) in FIXTURES {
        let (headers, body) = load(provider, name);
        let identity = identity_of(provider, &headers, &body);
        let event_type = if name == "v2.core.event" { "v1.billing.meter.error_report_triggered" } else { name };
        assert_eq!(identity.event_type.as_str(), event_type);
        assert_eq!(key(&identity), ordering_key, "{name}");
        assert_eq!(time(&identity).as_deref(), Some(event_time), "{name}");
        let expected: &[&str] = if provider == "stripe" { &["test mode"] } else { &[] };
        assert_eq!(flags(&identity), expected, "{name}");
        assert_eq!(identity.payload, PayloadForm::Body(body), "{name}");
    }
}

#[test]
fn every_file_among_the_fixtures_is_tested() {
    for provider in ["github", "stripe", "standard_webhooks"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(provider);
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".expect.toml") {
                continue;
            }
            let is_known = FIXTURES.iter().any(|known| known.0 == provider && format!("{}.http", known.1) == name);
            assert!(is_known, "{provider}/{name} is not in the list of this test");
        }
    }
}

#[test]
fn fixtures_carry_no_signature() {
    for (provider, name, ..) in FIXTURES {
        let (headers, _) = load(provider, name);
        assert!(!headers.iter().any(|(header, _)| header.contains("signature")), "{provider}/{name}");
    }
}

/// B105: any node of a payload may turn out to be anything.
#[test]
fn a_fixture_with_any_node_replaced_still_has_an_identity() {
    let mut mutants = 0;
    for (provider, name, ..) in FIXTURES {
        let (headers, body) = load(provider, name);
        let original: Value = serde_json::from_slice(&body).unwrap();
        let whole = identity_of(provider, &headers, &body);
        for pointer in pointers(&original, String::new()) {
            let (before, after) = cut_out(&original, &pointer);
            for node in ["null", "{}", "[]", "\"\"", "0", "true", "1e999", "\"\\ud83d\""] {
                let identity = identity_of(provider, &headers, &format!("{before}{node}{after}").into());
                let is_usable = node != "1e999" && node != "\"\\ud83d\"";
                assert_eq!(identity.json().is_some(), is_usable, "{name} {pointer} {node}");
                if provider == "github" {
                    assert_eq!(identity.delivery_id, whole.delivery_id);
                    assert!(whole.event_type.as_str().starts_with(identity.event_type.as_str()), "{name} {pointer}");
                }
                mutants += 1;
            }
        }
    }
    assert!(mutants > 5_000, "{mutants}");
}

/// The pointer of every node, the whole included.
fn pointers(node: &Value, here: String) -> Vec<String> {
    let children: Vec<(String, &Value)> = match node {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(place, value)| (place.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    let deeper = children.into_iter().flat_map(|(key, value)| pointers(value, format!("{here}/{key}")));
    std::iter::once(here.clone()).chain(deeper).collect()
}

/// The text before and after a node.
fn cut_out(original: &Value, pointer: &str) -> (String, String) {
    let mut marked = original.clone();
    *marked.pointer_mut(pointer).unwrap() = json!("the node to replace");
    let text = marked.to_string();
    let (before, after) = text.split_once("\"the node to replace\"").unwrap();
    (before.to_owned(), after.to_owned())
}

#[test]
fn a_fixture_is_read_the_same_from_a_form() {
    let (headers, body) = load("github", "pull_request.opened");
    let form: String = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", std::str::from_utf8(&body).unwrap())
        .finish();
    let plain = identity_of("github", &headers, &body);
    let mut headers = github_headers("pull_request");
    headers.push("Content-Type", "application/x-www-form-urlencoded");
    let from_form = identity_of("github", &headers, &form.into());
    assert_eq!(from_form.payload, PayloadForm::FormField(body));
    assert_eq!(from_form.normalised_digest, plain.normalised_digest);
    assert_ne!(from_form.body_digest, plain.body_digest);
    assert_eq!((key(&from_form), time(&from_form)), (key(&plain), time(&plain)));
    assert_eq!(from_form.event_type, plain.event_type);
}
