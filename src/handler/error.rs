//! How a handler says that it did not succeed: try again, or do not. Any other error with `?` means "try again".

use std::{error::Error, fmt};

/// Why a handler did not succeed. What it did in the database is undone either way.
///
/// It is no [`Error`] itself, so that every error can become one with `?`.
pub struct HandlerError {
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    Retry(String),
    Reject(String),
    /// An error of somebody else's, looked into by `deliver`.
    Other(Box<dyn Error + Send + Sync>),
}

impl HandlerError {
    /// Trying again may help: the delivery is tried again as its route says.
    #[must_use]
    pub fn retry(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Retry(reason.into()) }
    }

    /// Trying again will not help: the delivery is a dead letter at once.
    #[must_use]
    pub fn reject(reason: impl Into<String>) -> Self {
        Self { kind: Kind::Reject(reason.into()) }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self { kind: Kind::Other(Box::new(error)) }
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HandlerError({self})")
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Retry(reason) | Kind::Reject(reason) => f.write_str(reason),
            Kind::Other(error) => write!(f, "{error}"),
        }
    }
}
