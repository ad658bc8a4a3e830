//! A place in payloads that an operator names, and what a payload has there.

use super::{
    Mistake,
    pointer::{Pointed, Pointer, look_up},
};

/// A place in a payload: a JSON pointer, or names with full stops between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadPath(Pointer);

impl PayloadPath {
    /// Parses `/repository/full_name` or `repository.full_name`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        if text.is_empty() || text.starts_with('/') {
            return Pointer::parse(text).map(Self);
        }
        Pointer::parse(&format!("/{}", text.replace('~', "~0").replace('/', "~1").replace('.', "/"))).map(Self)
    }

    /// Whether `json` has `value` there: a text, a number as it is written, `true`, `false` or `null`. What is no JSON has nothing
    /// anywhere.
    #[must_use]
    pub fn holds(&self, json: &[u8], value: &str) -> bool {
        let Ok(json) = std::str::from_utf8(json) else { return false };
        match look_up(json, std::slice::from_ref(&self.0)).into_iter().next() {
            Some(Pointed::Scalar(found)) => found == value,
            Some(Pointed::Other(what)) => what == "null" && value == "null",
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_either_way() {
        let json =
            br#"{"repository":{"full_name":"octo/repo","id":42,"private":false,"a~/":null},"list":[{"x":"\u0000"}]}"#;
        for (path, value) in [
            ("repository.full_name", "octo/repo"),
            ("/repository/full_name", "octo/repo"),
            ("repository.id", "42"),
            ("repository.private", "false"),
            ("repository.a~/", "null"),
            ("list.0.x", "\0"),
        ] {
            let path = PayloadPath::parse(path).unwrap();
            assert!(path.holds(json, value) && !path.holds(json, "other"), "{path:?}");
        }
    }

    #[test]
    fn a_bad_payload_has_nothing_anywhere() {
        let path = PayloadPath::parse("a").unwrap();
        for body in [&b""[..], b"\xff\xfe", b"{", b"[1,2", br#"{"a":"\ud83d"}"#, b"payload=%7B%7D"] {
            assert!(!path.holds(body, "1"));
        }
        for bad in ["", "/~", &"x.".repeat(700)] {
            assert!(PayloadPath::parse(bad).is_err(), "{bad}");
        }
    }
}
