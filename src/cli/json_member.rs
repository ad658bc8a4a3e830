//! Takes the bytes of a JSON document and a path into it, and gives the place of the value there, or the document with
//! another value there and every other byte as it was. Never reformats.

use std::ops::Range;

/// Why a value could not be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonMemberError {
    /// Not a JSON document.
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    /// Nothing there.
    #[error("the body has no {0:?}; name a value that is there, such as data.object.id or commits.0.message")]
    NoSuchMember(String),
}

/// The document with `value` (itself JSON) in place of what stands at `path`: names of members and numbers of array
/// elements, joined by dots. All other bytes stay as they are.
///
/// # Errors
/// When `body` is not JSON or has nothing at `path`.
pub fn replace(body: &[u8], path: &str, value: &str) -> Result<Vec<u8>, JsonMemberError> {
    let place = find(body, path)?;
    Ok([&body[..place.start], value.as_bytes(), &body[place.end..]].concat())
}

/// The place of the value at `path`. Of members with the same name the last counts, as for most parsers.
///
/// # Errors
/// When `body` is not JSON or has nothing at `path`.
pub fn find(body: &[u8], path: &str) -> Result<Range<usize>, JsonMemberError> {
    serde_json::from_slice::<serde::de::IgnoredAny>(body).map_err(|e| JsonMemberError::NotJson(e.to_string()))?;
    let mut place = value_at(body, skip_space(body, 0));
    for step in path.split('.') {
        place = child(body, place, step).ok_or_else(|| JsonMemberError::NoSuchMember(path.to_owned()))?;
    }
    Ok(place)
}

// From here on the document is known to be JSON, so that a scan may trust its brackets and quotes.

fn child(body: &[u8], parent: Range<usize>, step: &str) -> Option<Range<usize>> {
    let is_object = match body[parent.start] {
        b'{' => true,
        b'[' => false,
        _ => return None,
    };
    let wanted_index = if is_object { None } else { Some(step.parse::<usize>().ok()?) };
    let (mut at, mut index, mut found) = (skip_space(body, parent.start + 1), 0, None);
    while !matches!(body[at], b'}' | b']') {
        let mut is_wanted = wanted_index == Some(index);
        if is_object {
            let name = value_at(body, at);
            is_wanted = serde_json::from_slice::<String>(&body[name.clone()]).is_ok_and(|name| name == step);
            at = skip_space(body, skip_space(body, name.end) + 1); // over the colon
        }
        let value = value_at(body, at);
        at = skip_space(body, value.end);
        if is_wanted {
            found = Some(value);
        }
        if body[at] == b',' {
            at = skip_space(body, at + 1);
        }
        index += 1;
    }
    found
}

/// The place of the value that begins at `start`.
fn value_at(body: &[u8], start: usize) -> Range<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match body[at] {
            b'"' => at = string_end(body, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let length = body[at..].iter().position(|b| b",}] \t\r\n".contains(b));
                at = length.map_or(body.len(), |length| at + length);
            }
        }
        if depth == 0 {
            return start..at;
        }
    }
}

/// The place after the string that begins at `start`.
fn string_end(body: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while body[at] != b'"' {
        at += if body[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn skip_space(body: &[u8], from: usize) -> usize {
    from + body[from..].iter().take_while(|b| b" \t\r\n".contains(b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_is_replaced_and_every_other_byte_stays() {
        let body = b" {\t\"data\": {\"id\":\"in_1\"} ,\r\n\"id\" : \"evt_1\",\"n\":1e400,\"x\":[ ]}\n";
        let replaced = replace(body, "id", "\"evt_2\"").unwrap();
        assert_eq!(replaced, b" {\t\"data\": {\"id\":\"in_1\"} ,\r\n\"id\" : \"evt_2\",\"n\":1e400,\"x\":[ ]}\n");
        let replaced = replace(body, "data.id", "7").unwrap();
        assert_eq!(replaced, b" {\t\"data\": {\"id\":7} ,\r\n\"id\" : \"evt_1\",\"n\":1e400,\"x\":[ ]}\n");
    }

    #[test]
    fn brackets_and_quotes_within_strings_are_no_structure() {
        let body = br#"{"a":"}]\"{\\","b\u0063":[1,{"d":"x,y"},[2]],"e":null}"#;
        for (path, value) in
            [("a", r#""}]\"{\\""#), ("bc.0", "1"), ("bc.1.d", "\"x,y\""), ("bc.2", "[2]"), ("e", "null")]
        {
            assert_eq!(std::str::from_utf8(&body[find(body, path).unwrap()]), Ok(value), "{path}");
        }
    }

    #[test]
    fn a_path_to_nothing_is_refused() {
        let body = br#"{"a":[1],"b":"c"}"#;
        for path in ["x", "a.1", "a.x", "b.c", "", "a.0.0"] {
            assert_eq!(find(body, path), Err(JsonMemberError::NoSuchMember(path.to_owned())));
        }
        assert!(matches!(find(b"{\"a\":", "a"), Err(JsonMemberError::NotJson(_))));
        assert!(matches!(find(b"", "a"), Err(JsonMemberError::NotJson(_))));
        assert_eq!(find(b"7", "a"), Err(JsonMemberError::NoSuchMember("a".to_owned())));
    }

    #[test]
    fn of_two_members_with_one_name_the_last_counts() {
        assert_eq!(replace(br#"{"a":1,"a":2}"#, "a", "3").unwrap(), br#"{"a":1,"a":3}"#);
    }

    proptest::proptest! {
        #[test]
        fn a_replaced_document_differs_in_nothing_else(
            names in proptest::collection::vec("[a-z]{1,3}", 1..5), texts in proptest::collection::vec(".*", 5), pick in 0..5_usize,
        ) {
            let members: serde_json::Map<_, _> = names.iter().cloned().zip(texts.iter().cloned().map(serde_json::Value::from)).collect();
            let name = &names[pick % names.len()];
            let body = serde_json::to_string_pretty(&members).unwrap();
            let replaced = replace(body.as_bytes(), name, "0").unwrap();
            let mut expected = members;
            expected.insert(name.clone(), 0.into());
            proptest::prop_assert_eq!(String::from_utf8(replaced).unwrap(), serde_json::to_string_pretty(&expected).unwrap());
        }
    }
}
