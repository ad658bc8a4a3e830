//! Holds a value against a JSON schema, as far as the API's description uses it.

use serde_json::Value;

/// What is wrong with `value`; empty: nothing.
pub fn mistakes(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, "$", &mut found);
    found
}

fn fits(document: &Value, schema: &Value, value: &Value) -> bool {
    mistakes(document, schema, value).is_empty()
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let there = document.pointer(reference.strip_prefix('#').unwrap());
        let there = there.unwrap_or_else(|| panic!("{reference} is nowhere"));
        check(document, there, value, at, found);
    }
    check_type(schema, value, at, found);
    for part in list(&schema["allOf"]) {
        check(document, part, value, at, found);
    }
    for (word, at_most) in [("oneOf", 1), ("anyOf", usize::MAX)] {
        if schema[word].is_array() {
            let fitting = list(&schema[word]).iter().filter(|part| fits(document, part, value)).count();
            if !(1..=at_most).contains(&fitting) {
                found.push(format!("{at}: fits {fitting} of {word}: {value}"));
            }
        }
    }
    check_members(document, schema, value, at, found);
    for (place, item) in list(value).iter().enumerate() {
        let at = format!("{at}[{place}]");
        let its = list(&schema["prefixItems"]).get(place).or(Some(&schema["items"]).filter(|its| its.is_object()));
        if let Some(its) = its {
            check(document, its, item, &at, found);
        }
    }
}

fn check_type(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let is_type = |word: &str| match word {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    };
    let is_right = match &schema["type"] {
        Value::String(word) => is_type(word),
        Value::Array(words) => words.iter().any(|word| is_type(word.as_str().unwrap())),
        _ => true,
    };
    if !is_right {
        found.push(format!("{at}: is no {}: {value}", schema["type"]));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        found.push(format!("{at}: is none of {words:?}: {value}"));
    }
    if let (Some("date-time"), Some(text)) = (schema["format"].as_str(), value.as_str())
        && chrono::DateTime::parse_from_rfc3339(text).is_err()
    {
        found.push(format!("{at}: is no time: {text}"));
    }
}

fn check_members(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(members) = value.as_object() else { return };
    for name in list(&schema["required"]).iter().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, member) in members {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (its @ Value::Object(_), _) => check(document, its, member, &at, found),
            (_, others @ Value::Object(_)) => check(document, others, member, &at, found),
            (_, Value::Bool(false)) => found.push(format!("{at}: is not described")),
            _ => {}
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
