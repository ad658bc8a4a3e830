//! `oncehook man`: manual pages, made from the same description as the help.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, Globals, output::print, output::print_bytes, output::print_json};

/// Writes the manual page, or with --out one for each subcommand.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A folder for all pages; it is made if it is not there. Without it: the first page, to standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the subcommand.
///
/// # Errors
/// When a file cannot be written.
pub fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &options.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        print_bytes(&page)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let mut written = Vec::new();
    write_pages(&command, "oncehook", &mut |name, page| {
        let path = folder.join(name);
        std::fs::write(&path, page).with_context(|| format!("failed to write {}", path.display()))?;
        written.push(path);
        Ok(())
    })?;
    if globals.json {
        print_json(&written)?;
    } else {
        print(&format!("{} manual pages are in {}", written.len(), folder.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the page of a command, and those below it. Hidden ones and `help` have none.
fn write_pages(
    command: &clap::Command,
    name: &str,
    write: &mut impl FnMut(String, Vec<u8>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut page = Vec::new();
    let title = name.to_owned();
    clap_mangen::Man::new(command.clone().display_name(title)).render(&mut page)?;
    write(format!("{name}.1"), page)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help") {
        write_pages(below, &format!("{name}-{}", below.get_name()), write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_has_a_page_that_names_it() {
        let mut command = Cli::command();
        command.build();
        let mut names = Vec::new();
        write_pages(&command, "oncehook", &mut |name, page| {
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
            names.push(name);
            Ok(())
        })
        .unwrap();
        for name in ["oncehook.1", "oncehook-receipts.1", "oncehook-dead-letters-retry.1", "oncehook-lanes-unblock.1"] {
            assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help") || name.contains("sink")), "{names:?}");
    }
}
