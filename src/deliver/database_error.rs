//! The table of errors that the database gives while an effect runs in it: takes an error, gives the class that decides what
//! happens next, with a sentence for the operator.

use std::time::Duration;

use sqlx::postgres::PgDatabaseError;

use super::outcome::sentence;
use crate::domain::{Outcome, OutcomeClass};

/// Raised by a function that does not want the delivery again: `raise exception … using errcode = 'OH001'`.
const REJECTION: &str = "OH001";

/// The outcome of an effect that ended with this error. Nothing of it is stored.
///
/// | SQLSTATE | class |
/// |---|---|
/// | OH001 | rejected: a dead letter at once |
/// | 2D000 (it tried to commit) | rejected: it would try again each time |
/// | 08…, 57P…, no answer | unknown: tried again |
/// | any other | failed: tried again |
pub(super) fn of_effect(error: &sqlx::Error, timeout: Duration) -> Outcome {
    let Some(refusal) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                ended(OutcomeClass::Unknown, &format!("lost its connection to the database: {error}"))
            }
            _ => ended(OutcomeClass::Failed, &format!("failed: {error}")),
        };
    };
    let (code, message) = (refusal.code().unwrap_or_default(), told(refusal));
    match &*code {
        REJECTION => ended(OutcomeClass::Rejected, &format!("was rejected by the function: {message}")),
        "2D000" => ended(
            OutcomeClass::Rejected,
            &format!(
                "tried to commit or roll back ({message}): Oncehook commits what it does, together with the delivery's end; \
                 remove commit and rollback from the function, or catch errors with begin … exception"
            ),
        ),
        "57014" => ended(
            OutcomeClass::Failed,
            &format!("did not end within {timeout:?} (57014: {message}); make `timeout` longer if it needs more time"),
        ),
        lost if lost.starts_with("08") || lost.starts_with("57P") => {
            ended(OutcomeClass::Unknown, &format!("lost its connection to the database ({code}: {message})"))
        }
        _ => ended(OutcomeClass::Failed, &format!("failed with {code}: {message}")),
    }
}

/// An outcome with nothing but a sentence.
pub(super) fn ended(class: OutcomeClass, reason: &str) -> Outcome {
    Outcome { class, reason: sentence(reason), answer: None, retry_after: None }
}

/// The SQLSTATE, where the server gave one.
pub(super) fn code_of(error: &sqlx::Error) -> String {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default().into_owned()
}

/// The message, with what the server adds to it.
fn told(error: &dyn sqlx::error::DatabaseError) -> String {
    let mut text = error.message().to_owned();
    if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
        for more in [error.detail(), error.hint()].into_iter().flatten() {
            text = format!("{text}; {more}");
        }
    }
    text
}
