//! Members of one JSON object, each value left as text. Takes the text of an object, gives the members that are asked
//! for; never unescapes a value and never recurses, so that hostile contents elsewhere cost nothing.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{
    Deserializer as _,
    de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Beyond this many members of one object, repeated keys are no longer looked for: it bounds the memory, and no event
/// of any provider comes near it.
pub(in crate::provider) const MEMBERS_MAX: usize = 1_024;

/// What was found in one object.
#[derive(Debug)]
pub(crate) struct Members<'j> {
    /// The wanted members, in the order they stand, repeated ones included. Keys are unescaped; they are bytes, since a key
    /// may hold a lone surrogate.
    pub(crate) wanted: Vec<(Cow<'j, [u8]>, &'j RawValue)>,
    /// How many members there are.
    pub(crate) count: usize,
    /// The first key that stands more than once.
    pub(crate) repeated: Option<Cow<'j, [u8]>>,
}

/// Reads the members of the object in `json` whose key `is_wanted`.
///
/// # Errors
/// When the text is not one JSON object with nothing but white space around it.
pub(crate) fn members_of<'j>(
    json: &'j str,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<Members<'j>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let members = deserializer.deserialize_map(MembersVisitor { is_wanted })?;
    deserializer.end()?;
    Ok(members)
}

struct MembersVisitor<F> {
    is_wanted: F,
}

impl<'j, F: Fn(&[u8]) -> bool> Visitor<'j> for MembersVisitor<F> {
    type Value = Members<'j>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Members<'j>, A::Error> {
        let mut members = Members { wanted: Vec::new(), count: 0, repeated: None };
        let mut seen: HashSet<Cow<'j, [u8]>> = HashSet::new();
        while let Some(key) = map.next_key_seed(Key)? {
            members.count += 1;
            if (self.is_wanted)(&key) {
                members.wanted.push((key.clone(), map.next_value()?));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            if members.repeated.is_none() && members.count <= MEMBERS_MAX && !seen.insert(key.clone()) {
                members.repeated = Some(key);
            }
        }
        Ok(members)
    }
}

/// Reads a key as bytes, which `serde_json` does without asking whether they are sound Unicode.
struct Key;

impl<'j> DeserializeSeed<'j> for Key {
    type Value = Cow<'j, [u8]>;

    fn deserialize<D: serde::Deserializer<'j>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'j> Visitor<'j> for Key {
    type Value = Cow<'j, [u8]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'j [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(bytes))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'j>(members: &Members<'j>) -> Vec<&'j str> {
        members.wanted.iter().map(|(_, value)| value.get()).collect()
    }

    #[test]
    fn wanted_members_are_given_as_they_stand_and_others_are_passed_over() {
        let json = r#" {"a" : [1, "\ud83d"], "\ud83d": 1e999, "\u0062":"x", "a":2} "#;
        let members = members_of(json, |key| key == b"a" || key == b"b").unwrap();
        assert_eq!(values(&members), [r#"[1, "\ud83d"]"#, r#""x""#, "2"]);
        assert_eq!((members.count, members.repeated.as_deref()), (4, Some(&b"a"[..])));
    }

    #[test]
    fn what_is_not_one_whole_object_is_refused() {
        for bad in ["", "[]", "1", "\"{\"", "{} {}", "{", r#"{"a"}"#, r#"{"a":1,}"#, "{\"a\":\"\u{1}\"}"] {
            assert!(members_of(bad, |_| false).is_err(), "{bad}");
        }
    }

    #[test]
    fn nesting_has_no_limit_where_nobody_looks() {
        let json = format!(r#"{{"deep":{}{},"a":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(values(&members_of(&json, |key| key == b"a").unwrap()), ["1"]);
    }
}
