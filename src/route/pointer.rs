//! JSON pointers (RFC 6901): takes a JSON text and pointers, gives the values they point at, as they are written there. One
//! pass for all of them, without a tree of the whole: numbers keep every digit, whatever their size.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserializer as _,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::Mistake;
use crate::provider::members_of;

/// The longest pointer.
const LENGTH_MAX: usize = 1_024;

/// The most parts of a pointer: reading goes as deep.
const PARTS_MAX: usize = 64;

/// What an operator writes instead of something that is no pointer.
const INSTEAD: &str = "write a JSON pointer, such as \"/repository/id\": names after slashes, with ~1 for a slash and ~0 for \
                       a tilde within a name";

/// A JSON pointer, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    parts: Vec<String>,
}

/// What stands where a pointer points.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Pointed {
    /// Nothing.
    #[default]
    Absent,
    /// A text, unescaped; a number as it is written; `true` or `false`.
    Scalar(String),
    /// `null`, a list or an object.
    Other(&'static str),
}

impl Pointer {
    /// Parses and checks.
    pub(super) fn parse(text: &str) -> Result<Self, Mistake> {
        let rest = text.strip_prefix('/').ok_or_else(|| Mistake::new("does not begin with a slash", INSTEAD))?;
        if text.len() > LENGTH_MAX {
            return Err(Mistake::new(format!("is longer than {LENGTH_MAX} bytes"), INSTEAD));
        }
        let parts = rest.split('/').map(unescape).collect::<Option<Vec<_>>>();
        let parts = parts.ok_or_else(|| Mistake::new("has a tilde without 0 or 1 behind it", INSTEAD))?;
        if parts.len() > PARTS_MAX {
            return Err(Mistake::new(format!("has more than {PARTS_MAX} parts"), INSTEAD));
        }
        Ok(Self { text: text.to_owned(), parts })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn unescape(part: &str) -> Option<String> {
    let mut pieces = part.split('~');
    let mut name = pieces.next()?.to_owned();
    for piece in pieces {
        name.push(match piece.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        name.push_str(&piece[1..]);
    }
    Some(name)
}

/// What each of `pointers` points at, in their order. Of a repeated key the last one counts, as with `serde_json::Value`.
pub(super) fn look_up(json: &str, pointers: &[Pointer]) -> Vec<Pointed> {
    let mut found = vec![Pointed::Absent; pointers.len()];
    let wanted: Vec<_> =
        pointers.iter().enumerate().map(|(place, pointer)| Wanted { place, rest: &pointer.parts }).collect();
    // A text that is no JSON has been found out before; what is read of one up to its mistake does no harm.
    let _ = look_into(json, &wanted, &mut found);
    found
}

/// A pointer that is still to be followed: whose place, and what is left of it.
#[derive(Clone, Copy)]
struct Wanted<'p> {
    place: usize,
    rest: &'p [String],
}

fn look_into(json: &str, wanted: &[Wanted<'_>], found: &mut [Pointed]) -> Result<(), serde_json::Error> {
    for (name, value) in children(json, wanted)? {
        let mut deeper = Vec::new();
        for Wanted { place, rest } in wanted.iter().filter(|wanted| wanted.rest[0] == name) {
            match &rest[1..] {
                [] => found[*place] = Pointed::read(value.get()),
                rest => deeper.push(Wanted { place: *place, rest }),
            }
        }
        if !deeper.is_empty() {
            look_into(value.get(), &deeper, found)?;
        }
    }
    Ok(())
}

/// The members of an object, or the items of a list, that a pointer leads through. Each name once.
fn children<'j>(json: &'j str, wanted: &[Wanted<'_>]) -> Result<BTreeMap<String, &'j RawValue>, serde_json::Error> {
    let is_wanted = |name: &[u8]| wanted.iter().any(|wanted| wanted.rest[0].as_bytes() == name);
    match json.trim_ascii_start().as_bytes().first() {
        Some(b'{') => {
            let members = members_of(json, is_wanted)?.wanted.into_iter();
            Ok(members.map(|(name, value)| (String::from_utf8_lossy(&name).into_owned(), value)).collect())
        }
        Some(b'[') => serde_json::Deserializer::from_str(json).deserialize_seq(Items(&is_wanted)),
        _ => Ok(BTreeMap::new()),
    }
}

/// Reads the items of a list whose number is wanted.
struct Items<F>(F);

impl<'j, F: Fn(&[u8]) -> bool> Visitor<'j> for Items<F> {
    type Value = BTreeMap<String, &'j RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'j>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = BTreeMap::new();
        // A number is compared as a pointer writes it, so that "01" is none.
        for number in (0_usize..).map(|number| number.to_string()) {
            if (self.0)(number.as_bytes()) {
                let Some(item) = list.next_element()? else { break };
                items.insert(number, item);
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(items)
    }
}

impl Pointed {
    fn read(value: &str) -> Self {
        match value.as_bytes().first() {
            Some(b'"') => serde_json::from_str(value).map_or(Self::Other("a text that is not sound"), Self::Scalar),
            Some(b'{') => Self::Other("an object"),
            Some(b'[') => Self::Other("a list"),
            Some(b'n') => Self::Other("null"),
            _ => Self::Scalar(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(json: &str, pointer: &str) -> Pointed {
        look_up(json, &[Pointer::parse(pointer).unwrap()]).remove(0)
    }

    #[test]
    fn a_value_is_given_as_it_is_written() {
        let json =
            r#" { "a": { "b~/": [ {"": "x"}, {"id": 12345678901234567890123.10, "is": true} ] }, "t": "\u00e9\n" } "#;
        for (pointer, value) in [
            ("/a/b~0~1/1/id", "12345678901234567890123.10"),
            ("/a/b~0~1/1/is", "true"),
            ("/a/b~0~1/0/", "x"),
            ("/t", "é\n"),
        ] {
            assert_eq!(at(json, pointer), Pointed::Scalar(value.to_owned()), "{pointer}");
        }
        for absent in ["/", "/b", "/a/b", "/a/b~0~1/2/id", "/a/b~0~1/01/id", "/a/b~0~1/-/id", "/t/0", "/a/b~0~1/id"] {
            assert_eq!(at(json, absent), Pointed::Absent, "{absent}");
        }
        for (pointer, what) in [("/a", "an object"), ("/a/b~0~1", "a list")] {
            assert_eq!(at(json, pointer), Pointed::Other(what));
        }
        assert_eq!(at(r#"{"a":null}"#, "/a"), Pointed::Other("null"));
    }

    #[test]
    fn several_pointers_are_followed_in_one_pass_and_a_repeated_key_counts_once() {
        let json = r#"{"a":{"b":1,"c":2},"a":{"c":3},"d":[4,5]}"#;
        let pointers = ["/a/c", "/d/1", "/a/b", "/a", "/a/c"].map(|text| Pointer::parse(text).unwrap());
        let scalar = |text: &str| Pointed::Scalar(text.to_owned());
        let found = look_up(json, &pointers);
        assert_eq!(found, [scalar("3"), scalar("5"), Pointed::Absent, Pointed::Other("an object"), scalar("3")]);
    }

    #[test]
    fn what_is_no_json_gives_nothing_and_does_not_panic() {
        for text in ["", "x", "{", r#"{"a""#, "[", "[1", "1", "\u{0}", r#"{"a":"\ud83d"}"#] {
            assert!(!matches!(at(text, "/a"), Pointed::Scalar(_)), "{text}");
        }
        let deep = format!(r#"{{"x":{}{},"a":1}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at(&deep, "/a"), Pointed::Scalar("1".to_owned()));
    }

    #[test]
    fn a_pointer_that_cannot_be_read_is_refused_with_an_example() {
        let (long, deep) = (format!("/{}", "x".repeat(2_000)), "/x".repeat(65));
        for bad in ["", "a", "a/b", "/~", "/~2", "/a~/b", &long, &deep] {
            assert!(Pointer::parse(bad).unwrap_err().instead.contains("/repository/id"), "{bad}");
        }
    }
}
