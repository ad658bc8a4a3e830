//! What is wrong with a route: takes the text of a pattern or a filter, gives the problem and what to write instead, for the
//! configuration and for whoever uses the library.

use super::{
    filter::{self, Filter},
    pattern::Pattern,
};
use crate::domain::RouteName;

/// What is wrong with a pattern or a filter.
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
    /// Which of its keys: `events` or `filter`.
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
    Filter::compile(&filter::language(), text).map(|_| ())
}
