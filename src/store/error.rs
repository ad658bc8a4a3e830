//! What can go wrong in the store, and what that means for the one who asked: was anything done, and is the database there?

use std::fmt;

/// An error of the store. As an HTTP answer: 503, 500, 404.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database or the way to it failed.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// A row breaks a rule that code and constraints should have kept: a defect.
    #[error("table {table}, column {column}, row {id}: {problem}")]
    Inconsistent {
        /// Where.
        table: &'static str,
        /// Where in the row.
        column: &'static str,
        /// Which row.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// The database, or what is in front of it, is not usable as it is set up. The message says what to change.
    #[error("{problem}")]
    Unusable {
        /// What is wrong and what to do.
        problem: String,
    },
    /// What was asked for is not there.
    #[error("not found")]
    NotFound,
}

/// How much a failed statement or commit tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The server answered: nothing of this transaction is stored.
    Refused,
    /// No answer, or the server is going down: what was sent may be stored or not.
    Unanswered,
    /// It never got as far as the server.
    NotSent,
}

impl StoreError {
    /// Names a row that breaks a rule.
    pub fn inconsistent(
        table: &'static str,
        column: &'static str,
        id: impl fmt::Display,
        problem: impl fmt::Display,
    ) -> Self {
        Self::Inconsistent { table, column, id: id.to_string(), problem: problem.to_string() }
    }

    /// The error of a connection that broke, for the crash tests.
    #[cfg(feature = "failpoints")]
    pub(crate) fn lost_connection() -> Self {
        Self::Database(sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()))
    }

    /// Whether a statement or commit that ended with this error may have been carried out. If so, ask again (the identity
    /// of a receipt tells) and never assume either.
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Database(error) if class_of(error) == Class::Unanswered)
    }

    /// Whether the database cannot be reached or cannot work now, so that the same statement may succeed later: the case for
    /// the gate, the spool and 503, and not for blaming the statement.
    #[must_use]
    pub fn is_database_away(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Database(error)) => error.code().is_some_and(|code| is_server_state(&code)),
            Self::Database(error) => class_of(error) != Class::Refused,
            _ => false,
        }
    }

    /// Whether the transaction lost against another one (deadlock, serialisation) and may be tried again at once.
    #[must_use]
    pub fn is_worth_another_try(&self) -> bool {
        let code = match self {
            Self::Database(sqlx::Error::Database(error)) => error.code(),
            _ => None,
        };
        code.is_some_and(|code| matches!(&*code, "40001" | "40P01"))
    }
}

fn class_of(error: &sqlx::Error) -> Class {
    match error {
        sqlx::Error::Database(error) => match error.code() {
            // 08: the connection; 57P: shutdown, crash of another backend; 40003: "completion unknown".
            Some(code) if code.starts_with("08") || code.starts_with("57P") || code == "40003" => Class::Unanswered,
            Some(_) => Class::Refused,
            None => Class::Unanswered,
        },
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            Class::Unanswered
        }
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Class::NotSent,
        _ => Class::Refused,
    }
}

/// Whether a code speaks of the server's state and not of the statement: 08 connection, 25006 read-only (a standby after a
/// fail-over), 53 resources (disk full, too many connections), 55P03 and 57014 time-outs, 57P shutdown, 58 system, XX internal.
fn is_server_state(code: &str) -> bool {
    ["08", "53", "57P", "58", "XX"].iter().any(|class| code.starts_with(class))
        || matches!(code, "25006" | "55P03" | "57014" | "40003")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_breaks_leaves_the_outcome_unknown() {
        let broken = StoreError::Database(sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()));
        assert!(broken.is_outcome_unknown() && broken.is_database_away());
    }

    #[test]
    fn a_pool_without_a_free_connection_has_sent_nothing() {
        let waited = StoreError::Database(sqlx::Error::PoolTimedOut);
        assert!(!waited.is_outcome_unknown() && waited.is_database_away());
    }

    #[test]
    fn a_missing_row_says_nothing_about_the_database() {
        for error in [StoreError::NotFound, StoreError::Database(sqlx::Error::RowNotFound)] {
            assert!(!error.is_outcome_unknown() && !error.is_database_away(), "{error}");
        }
    }

    #[test]
    fn codes_of_the_server_are_told_from_codes_of_the_statement() {
        for code in ["08006", "25006", "53100", "53300", "57P01", "57P03", "58030", "55P03", "57014"] {
            assert!(is_server_state(code), "{code}");
        }
        for code in ["23505", "22001", "42P01", "40P01", "22P05"] {
            assert!(!is_server_state(code), "{code}");
        }
    }
}
