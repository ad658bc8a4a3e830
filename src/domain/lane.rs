//! Lanes: the deliveries of one (route, ordering key), of which one runs at a time.

use super::{Digest, RouteName};

/// The longest ordering key that is kept as it is: it stands in an index, whose rows have a limit of 2,704 bytes.
const ORDERING_KEY_LENGTH_MAX: usize = 255;

/// The value that makes deliveries wait for one another, such as `pull_request/4711`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct OrderingKey(String);

impl OrderingKey {
    /// Takes any text. One that is long or holds a NUL is replaced by its SHA-256 (`sha256:…`), so that two long keys with
    /// a common beginning stay apart.
    #[must_use]
    pub fn new(text: &str) -> Self {
        if text.len() <= ORDERING_KEY_LENGTH_MAX && !text.contains('\0') {
            return Self(text.to_owned());
        }
        Self(format!("sha256:{}", Digest::of(text.as_bytes())))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for OrderingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which lane: a lane's row exists exactly while it has unfinished deliveries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    /// The route whose deliveries wait for one another.
    pub route: RouteName,
    /// The value they have in common.
    pub ordering_key: OrderingKey,
}

impl std::fmt::Display for LaneKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.route, self.ordering_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ordering_keys_with_a_common_beginning_stay_apart() {
        let long = "x".repeat(8_000);
        let (one, two) = (OrderingKey::new(&format!("{long}1")), OrderingKey::new(&format!("{long}2")));
        assert!(one != two && one.as_str().len() < 100);
        assert_eq!(OrderingKey::new("pull_request/1").as_str(), "pull_request/1");
        assert!(!OrderingKey::new("a\0b").as_str().contains('\0'));
    }
}
