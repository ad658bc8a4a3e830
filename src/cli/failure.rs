//! Why a command did not do what it was asked, with the exit code that says so to scripts. The codes stay the same between releases.

use crate::operate::OperateError;

/// Exit code when the command line, or a value in it, is wrong. clap's own.
pub const USAGE: u8 = 2;

/// Exit code of `check` when it has something to say.
pub const FINDINGS: u8 = 3;

/// Exit code when what was asked for is not there.
pub const NOT_FOUND: u8 = 4;

/// Exit code when an appliance elsewhere does not know the token, or it may not do this.
pub const NOT_ALLOWED: u8 = 5;

/// Exit code after Ctrl-C: what shells give to a program that it ends.
pub const INTERRUPTED: u8 = 130;

/// A failure that has an exit code of its own; all others have 1.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    message: String,
}

impl Failure {
    /// A failure with this exit code. `message` says what is wrong and what to do instead.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A value on the command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// It is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(NOT_FOUND, message)
    }
}

/// The exit code of an error.
#[must_use]
pub fn exit_code(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Failure>().map_or(1, |failure| failure.code)
}

/// An error of the desk, as the command line tells it.
#[must_use]
pub fn of_desk(error: OperateError) -> anyhow::Error {
    match error {
        OperateError::Store(error) => super::database_access::explain(error),
        OperateError::NotFound { .. } => Failure::not_found(error.to_string()).into(),
        OperateError::Invalid { .. } => Failure::usage(error.to_string()).into(),
        OperateError::Refused { .. } => anyhow::Error::new(error),
    }
}
