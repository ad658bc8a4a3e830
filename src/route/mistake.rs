//! What is wrong with a route: takes the text of a pattern, a filter or an ordering key, gives the problem and what to write instead, for the
//! configuration and for whoever uses the library.

use super::{expression, filter::Filter, key::Key, pattern::Pattern};
use crate::{config::KeyFrom, domain::RouteName};

/// What is wrong with a pattern, a filter or an ordering key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {instead}")]
pub struct Mistake {
    /// What is wrong, as it follows the name of the key: `is "re*", which is no pattern of event types`.
    pub problem: String,
    /// What to write instead.
    pub instead: String,
}

/// A mistake in a route's settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("route {route}: {key} {mistake}")]
pub struct RouteError {
    /// Which route.
    pub route: RouteName,
    /// Which of its keys: `events`, `filter` or `ordering_key`.
    pub key: &'static str,
    /// What is wrong with it.
    pub mistake: Mistake,
}

impl Mistake {
    pub(super) fn new(problem: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { problem: problem.into(), instead: instead.into() }
    }
}

/// Whether [`super::Routes::compile`] takes this pattern.
pub(crate) fn check_pattern(text: &str) -> Result<(), Mistake> {
    Pattern::parse(text).map(|_| ())
}

/// Whether [`super::Routes::compile`] takes this filter.
pub(crate) fn check_filter(text: &str) -> Result<(), Mistake> {
    Filter::compile(&expression::language(), text).map(|_| ())
}

/// Whether [`super::Routes::compile`] takes this ordering key.
pub(crate) fn check_ordering_key(from: &KeyFrom) -> Result<(), Mistake> {
    Key::compile(&expression::language(), from).map(|_| ())
}
