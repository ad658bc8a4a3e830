//! `oncehook completions`: a script that completes commands in a shell.

use std::process::ExitCode;

use clap::CommandFactory as _;

use super::{Cli, output::print_bytes};

/// Writes a completion script for a shell, such as `oncehook completions bash`
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Which shell.
    shell: clap_complete::Shell,
}

/// Runs the subcommand.
///
/// # Errors
/// When standard output takes no more.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "oncehook", &mut script);
    print_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
