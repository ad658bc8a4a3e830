//! The states that an update of Stripe leads from and to. Takes the body of a snapshot event, gives two digests: of the
//! object as it is, and as it was, which is the object with `previous_attributes` laid over it. Pure, bounded, and never
//! fails: what cannot be read has no chain.
//!
//! Source: stripe-go `event.go`: `previous_attributes` holds "names of the updated attributes and their values prior to the
//! event"; of an array that changed it holds all, of an object the members that changed.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::domain::{Chain, Digest};

/// The largest body that is looked into. Events of Stripe have some thousand bytes; reading this much takes some milliseconds
/// and some ten times its memory, which nobody should have to pay for more.
const LOOKED_INTO_BYTES_MAX: usize = 1024 * 1024;

#[derive(serde::Deserialize)]
struct Event {
    data: Data,
}

#[derive(serde::Deserialize)]
struct Data {
    object: Map<String, Value>,
    #[serde(default)]
    previous_attributes: Option<Map<String, Value>>,
}

/// The chain of an event of this type. Only an update says where it came from.
pub(super) fn chain_of(event_type: &str, body: &[u8]) -> Option<Chain> {
    if body.len() > LOOKED_INTO_BYTES_MAX {
        return None;
    }
    // serde_json refuses what nests 128 levels deep, so that everything below may recurse.
    let Data { mut object, previous_attributes } = serde_json::from_slice::<Event>(body).ok()?.data;
    let to = digest_of(&object);
    let from = previous_attributes.filter(|before| event_type.ends_with(".updated") && !before.is_empty());
    let from = from.map(|before| {
        lay_over(&mut object, before);
        digest_of(&object)
    });
    Some(Chain { from, to: Some(to), is_first: false })
}

/// Puts the values of `before` in place of those of `object`; of objects within, only the members that it names.
fn lay_over(object: &mut Map<String, Value>, before: Map<String, Value>) {
    for (key, value) in before {
        match (object.get_mut(&key), value) {
            (Some(Value::Object(held)), Value::Object(before)) => lay_over(held, before),
            (_, value) => _ = object.insert(key, value),
        }
    }
}

fn digest_of(object: &Map<String, Value>) -> String {
    let mut hash = Sha256::new();
    digest_members(object, &mut hash);
    Digest::from_bytes(hash.finalize().into()).to_string()
}

/// Members in the order of their keys. One that is null counts as absent: of a member that an update added,
/// `previous_attributes` says null.
fn digest_members(object: &Map<String, Value>, hash: &mut Sha256) {
    let mut members: Vec<_> = object.iter().filter(|(_, value)| !value.is_null()).collect();
    members.sort_unstable_by_key(|(key, _)| key.as_str());
    begin(b'{', members.len(), hash);
    for (key, value) in members {
        digest_text(b'k', key, hash);
        digest_value(value, hash);
    }
}

fn digest_value(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Object(members) => digest_members(members, hash),
        Value::Array(elements) => {
            begin(b'[', elements.len(), hash);
            elements.iter().for_each(|element| digest_value(element, hash));
        }
        Value::String(text) => digest_text(b'"', text, hash),
        Value::Number(number) => digest_text(b'0', &number.to_string(), hash),
        Value::Bool(truth) => begin(b't', usize::from(*truth), hash),
        Value::Null => begin(b'n', 0, hash),
    }
}

fn digest_text(kind: u8, text: &str, hash: &mut Sha256) {
    begin(kind, text.len(), hash);
    hash.update(text);
}

/// Kind and length keep what follows apart from what stands beside it.
fn begin(kind: u8, length: usize, hash: &mut Sha256) {
    hash.update([kind]);
    hash.update((length as u64).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(event_type: &str, object: &Value, before: &Value) -> Option<Chain> {
        let event = json!({ "id": "evt_1", "data": { "object": object, "previous_attributes": before } });
        chain_of(event_type, event.to_string().as_bytes())
    }

    /// The digest of an object's state.
    fn state(object: &Value) -> Option<String> {
        chain("x.created", object, &Value::Null).unwrap().to
    }

    #[test]
    fn an_update_leads_from_the_object_with_its_previous_attributes_to_the_object() {
        let old = json!({ "id": "sub_1", "status": "incomplete", "items": [1, 2], "plan": { "id": "a", "amount": 5 } });
        let new = json!({ "plan": { "amount": 7, "id": "a" }, "items": [3], "status": "active", "id": "sub_1" });
        let before = json!({ "status": "incomplete", "items": [1, 2], "plan": { "amount": 5 } });
        let chain = chain("customer.subscription.updated", &new, &before).unwrap();
        assert_eq!((&chain.from, &chain.to), (&state(&old), &state(&new)));
        assert!(!chain.is_first && chain.from != chain.to);
    }

    #[test]
    fn a_member_that_was_added_or_taken_away_is_null_on_the_other_side() {
        let without = json!({ "id": "cus_1", "metadata": {}, "pause": null });
        let with = json!({ "id": "cus_1", "metadata": { "plan": "gold" }, "pause": { "behavior": "void" } });
        let added = chain("customer.updated", &with, &json!({ "metadata": { "plan": null }, "pause": null })).unwrap();
        assert_eq!((added.from, added.to), (state(&without), state(&with)));
        let before = json!({ "metadata": { "plan": "gold" }, "pause": { "behavior": "void" } });
        let removed = chain("customer.updated", &without, &before).unwrap();
        assert_eq!((removed.from, removed.to), (state(&with), state(&without)));
    }

    #[test]
    fn only_an_update_with_previous_attributes_says_where_it_came_from() {
        let object = json!({ "id": "cus_1", "name": "b" });
        let before = json!({ "name": "a" });
        for (event_type, before) in
            [("customer.created", &before), ("customer.updated", &Value::Null), ("customer.updated", &json!({}))]
        {
            let chain = chain(event_type, &object, before).unwrap();
            assert_eq!((chain.from, chain.to), (None, state(&object)), "{event_type} {before}");
        }
    }

    #[test]
    fn values_that_differ_have_digests_that_differ() {
        let nodes = [
            json!(""),
            json!("a"),
            json!(0),
            json!(1),
            json!("1"),
            json!(true),
            json!(false),
            json!([]),
            json!({}),
            json!([[]]),
            json!([null]),
            json!({ "a": [] }),
            json!({ "a": { "b": 1 } }),
            json!({ "ab": 1 }),
            json!(["a", "b"]),
            json!(["ab"]),
            json!(0.5),
            json!(-1),
        ];
        let digests: std::collections::BTreeSet<_> = nodes.iter().map(|node| state(&json!({ "x": node }))).collect();
        assert_eq!(digests.len(), nodes.len());
    }

    #[test]
    fn what_is_hostile_has_no_chain_and_breaks_nothing() {
        let deep = format!(r#"{{"data":{{"object":{{"a":{}{}}}}}}}"#, "[".repeat(200), "]".repeat(200));
        let large = format!(r#"{{"data":{{"object":{{"a":"{}"}}}}}}"#, "x".repeat(LOOKED_INTO_BYTES_MAX));
        for body in [
            "",
            "[]",
            "{}",
            r#"{"data":[]}"#,
            r#"{"data":{"object":7}}"#,
            r#"{"data":{"object":{"a":1e999}}}"#,
            &deep,
            &large,
        ] {
            assert_eq!(chain_of("x.updated", body.as_bytes()), None);
        }
        let odd = r#"{"data":{"object":{"a":{"b":1}},"previous_attributes":{"a":{"b":{"c":[{}]},"d":{"e":null}},"f":[null]}}}"#;
        assert!(chain_of("x.updated", odd.as_bytes()).unwrap().from.is_some());
        assert_eq!(chain("x.updated", &json!({ "id": 1 }), &json!("soon")), None);
    }
}
