//! Why an operator changes something: an option of every command that does, and a line of its answer.

use std::process::ExitCode;

use super::{
    Globals,
    output::{print, print_json},
    visible::Visible,
};
use crate::operate::Changed;

/// The option.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Reason {
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Reason {
    /// The words, if there are any.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// Writes what a change came to: its own sentence, or JSON.
///
/// # Errors
/// When standard output takes no more.
pub fn print_changed(changed: &Changed, globals: &Globals) -> anyhow::Result<ExitCode> {
    if globals.json {
        print_json(changed)?
    } else {
        print(&Visible(&changed.done).to_string())?
    }
    Ok(ExitCode::SUCCESS)
}
