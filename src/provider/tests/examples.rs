//! Example payloads from outside the repository: all of octokit/webhooks, and an event for every object of Stripe's API.
//! They are looked for in `../shared` or in the folder that `ONCEHOOK_SHARED` named when the tests were built.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{super::github::events::EVENTS, flags, github, key, stripe};

/// A file or folder of the shared data; `None`, with a message, where it is not there.
fn shared(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared");
    let place = Path::new(option_env!("ONCEHOOK_SHARED").unwrap_or(beside)).join(path);
    if place.exists() {
        return Some(place);
    }
    eprintln!("skipped: {} is not there; set ONCEHOOK_SHARED to the folder that holds {path}", place.display());
    None
}

/// Every example: event and payload.
fn github_examples(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut examples = Vec::new();
    for event in std::fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(event.path()).unwrap().map(Result::unwrap) {
            examples.push((event.file_name().into_string().unwrap(), file.path()));
        }
    }
    examples
}

/// Whether a path leads to something that is neither null nor "never".
fn is_there(payload: &Value, path: &str) -> bool {
    let value = payload.pointer(&format!("/{}", path.replace('.', "/"))).unwrap_or(&Value::Null);
    !value.is_null() && value != "0001-01-01T00:00:00Z"
}

#[test]
fn every_example_of_github_is_identified() {
    let Some(folder) = shared("data/github-payloads") else { return };
    let examples = github_examples(&folder);
    assert!(examples.len() > 250, "{}", examples.len());
    for (event, file) in examples {
        let name = file.display();
        let body = std::fs::read(&file).unwrap();
        let payload: Value = serde_json::from_slice(&body).unwrap();
        let row = EVENTS.iter().find(|row| row.name == event).unwrap_or_else(|| panic!("{event} is not in the table"));
        let identity = github(&event, body);

        let expected = payload["action"].as_str().map_or(event.clone(), |action| format!("{event}.{action}"));
        assert_eq!(identity.event_type.as_str(), expected, "{name}");
        assert_eq!(key(&identity).is_some(), !row.keys.is_empty(), "{name}: {:?}", flags(&identity));
        let first_time = row.times.iter().copied().find(|path| is_there(&payload, path));
        assert_eq!(identity.event_time.map(|time| time.path), first_time, "{name}");
        assert!(flags(&identity).is_empty(), "{name}: {:?}", flags(&identity));
    }
}

#[test]
fn an_event_about_every_object_of_stripe_is_identified() {
    let Some(file) = shared("data/stripe/openapi-fixtures3.json") else { return };
    let fixtures: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let objects = fixtures["resources"].as_object().unwrap();
    assert!(objects.len() > 150, "{}", objects.len());
    for (name, object) in objects {
        let event = json!({
            "id": "evt_1", "object": "event", "type": format!("{name}.updated"), "created": 1_700_000_000,
            "livemode": true, "account": "acct_1", "pending_webhooks": 1, "data": {"object": object},
        });
        let identity = stripe(event.to_string());
        assert_eq!(identity.event_type.as_str(), format!("{name}.updated"));
        let id = object["id"].as_str().filter(|id| !id.is_empty());
        let subject = id.or(object["object"].as_str()).map(|id| format!("acct_1/{id}"));
        assert_eq!(key(&identity), subject.as_deref(), "{name}");
        assert!(identity.event_time.is_some() && identity.json().is_some(), "{name}");
    }
}
