//! Why an operation was not done, so that each side can say it in its own way: as a status, a page, an exit code.

use crate::store::StoreError;

/// What came of an operation.
pub type Result<T> = std::result::Result<T, OperateError>;

/// Why an operation was not done. Nothing was changed then, but where the store says that its outcome is unknown.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    /// There is no such thing. HTTP 404, exit code 4.
    #[error("there is no {what} {name:?}")]
    NotFound {
        /// The word for it: receipt, delivery, conflict, …
        what: &'static str,
        /// What was asked for.
        name: String,
    },
    /// It stands where this cannot be done. HTTP 409, exit code 1.
    #[error("{problem}: {instead}")]
    Refused {
        /// What is in the way.
        problem: String,
        /// What to do instead.
        instead: String,
    },
    /// The question itself is wrong. HTTP 400, exit code 2.
    #[error("{field}: {problem}: {instead}")]
    Invalid {
        /// Which parameter.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to write instead.
        instead: String,
    },
    /// The database. HTTP 503, exit code 1.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for OperateError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}
