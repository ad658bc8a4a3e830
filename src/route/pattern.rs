//! Patterns over event types: takes what an operator wrote under `events`, gives yes or no for a type. Never a regular
//! expression.

use crate::domain::EventType;

/// Which event types a route wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// `*`: every type.
    All,
    /// `release.*`: `release.published` and `release.asset.added`, but not `release` itself. Holds `release.`.
    Below(String),
    /// `push`: this type and no other.
    Exactly(String),
}

impl Pattern {
    /// Reads a pattern. The error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        let (base, is_below) = match text.strip_suffix(".*") {
            Some(base) => (base, true),
            None => (text, false),
        };
        if base.is_empty() || base.contains('*') || base.ends_with('.') {
            return Err(format!(
                "{text:?} is no pattern: write an event type such as \"push\", all below one such as \"release.*\", or \"*\""
            ));
        }
        // Types are cleaned when they come in, and a pattern that no clean type can equal would never match.
        if EventType::new(base).as_str() != base {
            return Err(format!("{text:?} can never match: event types are up to 128 visible ASCII characters"));
        }
        Ok(if is_below { Self::Below(format!("{base}.")) } else { Self::Exactly(base.to_owned()) })
    }

    pub(super) fn matches(&self, event_type: &EventType) -> bool {
        match self {
            Self::All => true,
            Self::Below(prefix) => {
                event_type.as_str().strip_prefix(prefix.as_str()).is_some_and(|rest| !rest.is_empty())
            }
            Self::Exactly(wanted) => event_type.as_str() == wanted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_one_type_or_all_below_one_or_all() {
        for (pattern, yes, no) in [
            ("push", &["push"][..], &["push.x", "pushed", "Push", "repush"][..]),
            (
                "release.*",
                &["release.published", "release.asset.added"],
                &["release", "release.", "releases.x", "x.release.y"],
            ),
            ("*", &["push", "release.published", "unknown"], &[]),
        ] {
            let pattern = Pattern::parse(pattern).unwrap();
            for text in yes {
                assert!(pattern.matches(&EventType::new(text)), "{pattern:?} and {text}");
            }
            for text in no {
                assert!(!pattern.matches(&EventType::new(text)), "{pattern:?} and {text}");
            }
        }
    }

    #[test]
    fn a_pattern_that_means_nothing_is_refused_with_an_example() {
        for bad in ["", ".*", "rel*", "*.published", "**", "release.*.x", "a..*"] {
            assert!(Pattern::parse(bad).unwrap_err().contains("release.*"), "{bad}");
        }
        for never in ["pull request", "é", &"x".repeat(129)] {
            assert!(Pattern::parse(never).unwrap_err().contains("never match"), "{never}");
        }
    }
}
