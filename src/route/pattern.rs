//! Patterns over event types: takes what an operator wrote under `events`, gives yes or no for a type. Never a regular
//! expression.

use super::Mistake;
use crate::domain::EventType;

/// What an operator writes instead of something that is no pattern.
const INSTEAD: &str = "write an event type with all below it (\"push\", \"release\", \"release.*\"), or \"*\"";

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
    pub(super) fn parse(text: &str) -> Result<Self, Mistake> {
        if text == "*" {
            return Ok(Self::All);
        }
        let base = text.strip_suffix(".*").unwrap_or(text);
        if base.is_empty() || base.contains('*') || base.ends_with('.') {
            return Err(Mistake::new(format!("is {text:?}, which is no pattern of event types"), INSTEAD));
        }
        // Types are cleaned when they come in, and a pattern that no clean type can equal would never match.
        if EventType::new(base).as_str() != base {
            let problem = format!("is {text:?}, which can never match");
            return Err(Mistake::new(
                problem,
                "event types are up to 128 visible ASCII characters: write one of those",
            ));
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
            assert!(Pattern::parse(bad).unwrap_err().instead.contains("release.*"), "{bad}");
        }
        for never in ["pull request", "é", &"x".repeat(129)] {
            assert!(Pattern::parse(never).unwrap_err().problem.contains("never match"), "{never}");
        }
    }
}
