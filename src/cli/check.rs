//! `oncehook check`: every mistake in the configuration, with its place and what to write instead.

use std::process::ExitCode;

use super::{
    Globals,
    failure::FINDINGS,
    output::{print, print_json},
};
use crate::config;

/// Checks the configuration and tells every mistake in it; starts and changes nothing.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Counts warnings as findings too.
    #[arg(long)]
    strict: bool,
}

/// Runs the subcommand: exit code 0 without findings, 3 with.
///
/// # Errors
/// When standard output takes no more.
pub fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let report = config::check(&globals.load_options(false));
    if globals.json {
        print_json(&report)?;
    } else {
        print(&report.to_string())?;
    }
    let is_clean = report.is_good() && (report.warnings.is_empty() || !options.strict);
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(FINDINGS) })
}
