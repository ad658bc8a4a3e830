//! The command line. Takes arguments, gives an exit code; one file or folder a subcommand, with its `Options` and its
//! `run`. Business happens elsewhere.

mod access;
mod audit;
mod banner;
mod bulks;
mod check;
mod colour;
mod completions;
mod conflicts;
mod database;
mod database_access;
mod dead_letters;
mod deliveries;
mod delivery_view;
mod destinations;
mod doctor;
mod drill;
mod export;
mod failure;
mod globals;
mod health;
mod http_client;
mod lanes;
mod listen;
mod listing;
mod man;
mod migrate;
mod moment;
mod output;
mod pausing;
mod payload_text;
pub(crate) mod payload_view;
mod reason;
mod receipts;
pub(crate) mod redaction;
mod release;
mod replay;
mod routes;
#[cfg(test)]
mod sample;
mod send;
mod serve;
mod sources;
mod stamp;
mod story_view;
mod tokens;
mod verdict;
pub(crate) mod visible;
mod work;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _, parser::ValueSource};

pub use globals::Globals;

use self::{failure::FINDINGS, visible::Visible};
use crate::telemetry;

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  failed: the reason is on standard error
  2  the command line is wrong
  3  \"check\" has findings, or \"doctor\" has warnings
  4  what was asked for is not there
  5  not allowed: the appliance at --url does not know the token, or its role may not do this
  130  Ctrl-C while watching; what was begun goes on

First steps: \"oncehook serve\" in one terminal; \"oncehook send github push\" in another.";

/// Webhooks, once and in order: stores each delivery before it answers, then runs it once, in order, with retries.
#[derive(Debug, clap::Parser)]
#[command(name = "oncehook", version, after_help = AFTER_HELP, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Serve(serve::Options),
    Work(work::Options),
    Migrate(migrate::Options),
    Check(check::Options),
    Doctor(doctor::Options),
    Send(send::Options),
    Replay(replay::Options),
    Export(export::Options),
    Listen(listen::Options),
    Receipts(receipts::Options),
    Deliveries(deliveries::Options),
    DeadLetters(dead_letters::Options),
    Lanes(lanes::Options),
    Conflicts(conflicts::Options),
    Release(release::Options),
    Bulks(bulks::Options),
    Sources(sources::Options),
    Routes(routes::Options),
    Destinations(destinations::Options),
    Pauses(pausing::Options),
    Audit(audit::Options),
    Tokens(tokens::Options),
    Database(database::Options),
    Drill(drill::Options),
    #[command(hide = true)]
    DrillSink(crate::drill::sink::Options),
    Health(health::Options),
    Completions(completions::Options),
    Man(man::Options),
}

/// Reads the process' arguments and runs what they ask for. Errors are printed as one line, causes after colons.
#[must_use]
pub fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    let _armed = crate::crash_point::arm();
    match parse().and_then(Cli::run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", told(&error));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

/// Reads the process' arguments. A command that works on this machine only refuses `--url`: whoever gives it means another one. The
/// variable may be set for other commands.
fn parse() -> anyhow::Result<Cli> {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if !cli.command.works_remotely() && matches.value_source("url") == Some(ValueSource::CommandLine) {
        let name = matches.subcommand_name().unwrap_or_default();
        let problem = format!("\"oncehook {name}\" works on this machine only: leave out --url, or run it over there");
        return Err(failure::Failure::usage(problem).into());
    }
    Ok(cli)
}

impl Command {
    fn works_remotely(&self) -> bool {
        !matches!(
            self,
            Self::Serve(_)
                | Self::Work(_)
                | Self::Migrate(_)
                | Self::Check(_)
                | Self::Send(_)
                | Self::Database(_)
                | Self::Doctor(_)
                | Self::Drill(_)
                | Self::DrillSink(_)
                | Self::Completions(_)
                | Self::Man(_)
                | Self::Tokens(_)
        )
    }
}

impl Cli {
    fn run(self) -> anyhow::Result<ExitCode> {
        let globals = self.globals;
        let is_lasting = matches!(self.command, Command::Serve(_) | Command::Work(_));
        let level = globals.log.as_deref().unwrap_or(match self.command {
            _ if is_lasting => "info",
            // What a database says that is crashed on purpose is no news.
            Command::Drill(_) => "warn,sqlx=error",
            _ => "warn",
        });
        telemetry::start(level).map_err(anyhow::Error::msg).context("--log")?;
        match self.command {
            Command::Check(options) => check::run(&options, &globals),
            Command::Completions(options) => completions::run(&options),
            Command::Man(options) => man::run(&options, &globals),
            Command::Serve(options) => wait_for(serve::run(&options, &globals)),
            Command::Work(options) => wait_for(work::run(&options, &globals)),
            Command::Migrate(options) => wait_for(migrate::run(&options, &globals)),
            Command::Send(options) => wait_for(send::run(&options, &globals)),
            Command::Replay(options) => wait_for(replay::run(&options, &globals)),
            Command::Export(options) => wait_for(export::run(&options, &globals)),
            Command::Listen(options) => wait_for(listen::run(&options, &globals)),
            Command::Receipts(options) => wait_for(receipts::run(options, &globals)),
            Command::Deliveries(options) => wait_for(deliveries::run(options, &globals)),
            Command::DeadLetters(options) => wait_for(dead_letters::run(options, &globals)),
            Command::Lanes(options) => wait_for(lanes::run(options, &globals)),
            Command::Conflicts(options) => wait_for(conflicts::run(options, &globals)),
            Command::Release(options) => wait_for(release::run(&options, &globals)),
            Command::Bulks(options) => wait_for(bulks::run(options, &globals)),
            Command::Sources(options) => wait_for(sources::run(options, &globals)),
            Command::Routes(options) => wait_for(routes::run(options, &globals)),
            Command::Destinations(options) => wait_for(destinations::run(options, &globals)),
            Command::Pauses(options) => wait_for(pausing::run(&options, &globals)),
            Command::Audit(options) => wait_for(audit::run(options, &globals)),
            Command::Tokens(options) => wait_for(tokens::run(options, &globals)),
            Command::Drill(options) => wait_for(drill::run(options, &globals)),
            Command::DrillSink(options) => wait_for(drill::run_sink(options)),
            Command::Database(options) => wait_for(database::run(options, &globals)),
            Command::Doctor(options) => wait_for(doctor::run(&options, &globals)),
            Command::Health(options) => wait_for(health::run(&options, &globals)),
        }
    }
}

/// An error and its causes, after colons. Many libraries repeat a cause in their own text: what has been told is not told
/// again. Lines stay lines; everything else is made safe for a terminal.
fn told(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.contains(cause.trim()) {
            told = format!("{told}: {cause}");
        }
    }
    let lines: Vec<_> = told.trim_end().split('\n').map(|line| Visible(line).to_string()).collect();
    lines.join("\n")
}

fn wait_for(command: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("failed to start the runtime")?.block_on(command)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_exit_codes_are_told_in_the_help() {
        let help = Cli::command().render_long_help().to_string();
        use failure::{FINDINGS, INTERRUPTED, NOT_ALLOWED, NOT_FOUND, USAGE};
        for line in [
            format!("  {USAGE}  the command line"),
            format!("  {FINDINGS}  \"check\" has findings, or \"doctor\""),
            format!("  {NOT_FOUND}  what was asked for"),
            format!("  {NOT_ALLOWED}  not allowed"),
            format!("  {INTERRUPTED}  Ctrl-C"),
        ] {
            assert!(help.contains(&line), "{help}");
        }
    }

    /// Each subcommand stands in docs/cli.md as it is typed, and each option somewhere in docs/.
    #[test]
    fn the_docs_miss_no_subcommand_and_no_option() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let page = std::fs::read_to_string(docs.join("cli.md")).unwrap();
        let pages = std::fs::read_dir(docs).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
        let all: String = pages.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect();
        let mut missing = Vec::new();
        let mut left = vec![("oncehook".to_owned(), Cli::command())];
        while let Some((name, command)) = left.pop() {
            let section = format!("\n## {}\n", name.trim_start_matches("oncehook "));
            if name != "oncehook" && !page.contains(&name) && !page.contains(&section) {
                missing.push(name.clone());
            }
            let options =
                command.get_arguments().filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long);
            missing.extend(
                options.filter(|long| !all.contains(&format!("--{long}"))).map(|long| format!("{name} --{long}")),
            );
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            left.extend(below.map(|below| (format!("{name} {}", below.get_name()), below.clone())));
        }
        assert!(missing.is_empty(), "{missing:#?}");
    }

    #[test]
    fn an_error_is_told_with_its_causes_once_and_safely() {
        let error = anyhow::anyhow!("no table\u{1b}[2J")
            .context("the database failed: no table\u{1b}[2J")
            .context("failed to ask");
        assert_eq!(told(&error), r"failed to ask: the database failed: no table\u{1b}[2J");
        assert_eq!(told(&anyhow::anyhow!("two\nlines\n")), "two\nlines");
    }

    #[test]
    fn lists_are_what_comes_without_a_subcommand() {
        for line in ["oncehook receipts", "oncehook receipts list --limit 3", "oncehook receipts --state dead --json"] {
            Cli::try_parse_from(line.split(' ')).unwrap();
        }
        for line in ["oncehook receipts --state done", "oncehook receipts --limit 0", "oncehook send", "oncehook"] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
