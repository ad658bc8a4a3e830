//! Patterns over event types: takes what an operator wrote under `events`, gives yes or no for a type. Never a regular
//! expression.

use crate::domain::EventType;

/// Which event types a route wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// `*`: every type.
    All,
    /// `release` or `release.*`: this type and all below it, such as `release.published`. GitHub's types carry an action, and
    /// who writes `pull_request` means them all.
    Family(String),
}

impl Pattern {
    /// Reads a pattern. The error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::All);
        }
        let base = text.strip_suffix(".*").unwrap_or(text);
        if base.is_empty() || base.contains('*') || base.ends_with('.') {
            return Err(format!(
                "{text:?} is no pattern: write an event type such as \"push\", a family such as \"release.*\", or \"*\""
            ));
        }
        // Types are cleaned when they come in, and a pattern that no clean type can equal would never match.
        if EventType::new(base).as_str() != base {
            return Err(format!("{text:?} can never match: event types are up to 128 visible ASCII characters"));
        }
        Ok(Self::Family(base.to_owned()))
    }

    pub(super) fn matches(&self, event_type: &EventType) -> bool {
        match self {
            Self::All => true,
            Self::Family(base) => {
                let rest = event_type.as_str().strip_prefix(base.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_type_with_all_below_it_or_everything() {
        for (pattern, yes, no) in [
            ("push", &["push", "push.x"][..], &["pushed", "Push", "repush"][..]),
            ("invoice.paid", &["invoice.paid"], &["invoice", "invoice.paid_late", "invoice.voided"]),
            ("release", &["release", "release.published", "release.asset.added"], &["releases.x", "x.release.y"]),
            ("release.*", &["release", "release.published", "release.asset.added"], &["releases.x", "x.release.y"]),
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
