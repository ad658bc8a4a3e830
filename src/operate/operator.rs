//! Who asks: the operator, what they may do, and from where they ask.

use super::{OperateError, Result};

/// What an operator may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look at everything.
    Read,
    /// Change things too.
    Operate,
}

/// From where they ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// `/api/v1`.
    Api,
    /// The pages.
    Dashboard,
    /// The command line, on the database itself.
    CommandLine,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The name of their token, or of their account on the machine; for the audit log.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// From where.
    pub via: Via,
}

/// An order to change something.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'a> {
    /// Who gives it. Whoever calls has seen to it that they may.
    pub by: &'a Operator,
    /// Why, in their words. At most [`Instruction::REASON_BYTES_MAX`].
    pub reason: Option<&'a str>,
}

impl Instruction<'_> {
    /// The longest reason, in bytes: it stands in lists.
    pub const REASON_BYTES_MAX: usize = 500;

    /// The reason as it is kept: without white space around it, and none if nothing is left.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] when it is too long, or holds what the database does not take.
    pub fn reason_to_keep(&self) -> Result<Option<&str>> {
        let Some(reason) = self.reason.map(str::trim).filter(|reason| !reason.is_empty()) else { return Ok(None) };
        let refused =
            |problem: String, instead: String| Err(OperateError::Invalid { field: "reason", problem, instead });
        if reason.len() > Self::REASON_BYTES_MAX {
            let instead = format!("say it in {} bytes, or link to where it is told", Self::REASON_BYTES_MAX);
            return refused(format!("it has {} bytes", reason.len()), instead);
        }
        if reason.contains('\0') {
            return refused("it holds a NUL character".to_owned(), "leave that out".to_owned());
        }
        Ok(Some(reason))
    }
}

impl Role {
    /// The word for it in SQL, JSON and the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

impl Via {
    /// The word for it in SQL and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Dashboard => "dashboard",
            Self::CommandLine => "command_line",
        }
    }
}
