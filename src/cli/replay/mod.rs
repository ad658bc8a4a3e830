//! `oncehook replay`: posts fixtures, signed at that moment; with `--expect` a folder of them is a test suite.

mod folder;
mod junit;
mod plan;
mod report;
mod sending;
mod sink;
mod suite;
mod tap;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;

use self::{
    folder::{Addressing, Piece},
    report::Report,
    sending::{Pace, Sendings},
    sink::Sink,
    suite::Case,
};
use super::{
    Globals,
    access::Access,
    failure::{Failure, INTERRUPTED},
    http_client::{client, local_address},
    output::{print, print_json},
    send::addressee::SecretOptions,
};
use crate::{config::parse_rate, domain::SourceName, fixture::expect::Expectations};

/// How long to wait for an answer, as "oncehook send" does.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Posts fixtures, signed at that moment; with --expect, checks what becomes of them.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// .http files, or folders with such files (and folders) in them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Where to post: an appliance, such as <http://127.0.0.1:8080> (/hooks/SOURCE is added), or a whole address. Default: the
    /// configured port on this machine.
    #[arg(long, value_name = "URL")]
    to: Option<url::Url>,
    /// The source whose secret signs. Default: the one for which a file's folder is named, or the first of that provider.
    #[arg(long, value_name = "NAME")]
    source: Option<SourceName>,
    #[command(flatten)]
    secret: SecretOptions,
    /// Keeps the delivery ids of the files: sent before, they are redeliveries. Without it each has a fresh one.
    #[arg(long)]
    keep_ids: bool,
    /// At most so many, such as 50/s or 100/m.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<Duration>,
    /// Sends them in another order, which the seed decides.
    #[arg(long)]
    shuffle: bool,
    /// Repeats the order and the redeliveries of an earlier run.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Sends so many of them twice: 10%.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    duplicate: u8,
    /// Over how many connections. With more than one, requests overtake each other.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    concurrency: u16,
    /// Checks what each FILE.expect.toml beside FILE.http expects; asks the database, or the appliance at --url.
    #[arg(long)]
    expect: bool,
    /// Takes the calls of a destination here, such as 127.0.0.1:9000, counts and compares them, for --expect.
    #[arg(long, value_name = "ADDRESS", requires = "expect")]
    sink: Option<SocketAddr>,
    /// Writes TAP 14 instead of a table.
    #[arg(long, requires = "expect", conflicts_with = "json")]
    tap: bool,
    /// Writes `JUnit` XML into this file too.
    #[arg(long, value_name = "FILE", requires = "expect")]
    junit: Option<PathBuf>,
}

/// Runs the subcommand: exit code 0 if everything was accepted, or was as expected; 1 otherwise; 130 if Ctrl-C stopped it.
///
/// # Errors
/// When a file cannot be read or is wrong, or the appliance cannot be asked.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let pieces = Arc::new(read(options, globals)?);
    let needs =
        |need: fn(&Expectations) -> bool| pieces.iter().find(|piece| piece.expectations.as_ref().is_some_and(need));
    if let (Some(piece), None) = (needs(Expectations::need_sink), options.sink) {
        let file = piece.path.display();
        return Err(
            Failure::usage(format!("what {file} expects of calls can only be counted with --sink ADDRESS")).into()
        );
    }
    let sink = match options.sink {
        Some(listen) => Some(Sink::start(listen).await?),
        None => None,
    };
    let seed = options.seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    let turns = plan::plan(pieces.len(), options.shuffle, options.duplicate, seed);
    let connections = usize::from(options.concurrency).min(turns.len());
    let pace = Pace { connections, gap: options.rate };
    if options.shuffle || options.duplicate > 0 {
        eprintln!("seed {seed}: --seed {seed} repeats this order");
    }
    let needs_access = needs(Expectations::need_receipt).is_some();
    // Opened before anything is sent: without it there would be no verdict.
    let access = if needs_access { Some(Access::of(globals).await?) } else { None };
    let sendings = sending::send(client(connections, ANSWER_TIMEOUT)?, Arc::clone(&pieces), turns, pace).await?;
    let cases = if options.expect {
        Some(suite::judge(&pieces, &sendings, access.as_ref(), sink.as_ref()).await)
    } else {
        None
    };
    if let Some(access) = access {
        access.close().await?;
    }
    conclude(options, globals, &pieces, &sendings, cases.transpose()?)
}

fn read(options: &Options, globals: &Globals) -> anyhow::Result<Vec<Piece>> {
    let config = globals.load(false)?.config;
    let to = match &options.to {
        Some(to) => to.clone(),
        None => format!("http://{}", local_address(config.intake.listen)).parse().context("the configured port")?,
    };
    if !options.expect && options.to.is_none() && globals.remote.url.is_some() {
        eprintln!("note: these go to {to}: --to says where to post; --url is asked what became of them, with --expect");
    }
    let addressing = Addressing {
        config: &config,
        source: options.source.as_ref(),
        secret: &options.secret,
        to,
        keep_ids: options.keep_ids,
        read_expectations: options.expect,
    };
    folder::read_all(&folder::find(&options.paths)?, &addressing)
}

fn conclude(
    options: &Options,
    globals: &Globals,
    pieces: &[Piece],
    sendings: &Sendings,
    cases: Option<Vec<Case>>,
) -> anyhow::Result<ExitCode> {
    let report = Report::of(pieces, sendings, cases);
    if let (Some(path), Some(cases)) = (&options.junit, &report.cases) {
        let xml = junit::junit(cases);
        std::fs::write(path, xml).with_context(|| format!("--junit: failed to write {}", path.display()))?;
    }
    match &report.cases {
        _ if globals.json => print_json(&report)?,
        Some(cases) if options.tap => print(&tap::tap(cases))?,
        _ => print(&report.view())?,
    }
    Ok(if report.was_stopped {
        ExitCode::from(INTERRUPTED)
    } else if report.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn rate(text: &str) -> Result<Duration, String> {
    parse_rate(text).ok_or_else(|| "write how many in a second, a minute or an hour: 50/s, 100/m, 10/h".to_owned())
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let percent = number.parse().ok().filter(|percent| *percent <= 100);
    percent.ok_or_else(|| "write a whole number from 0% to 100%".to_owned())
}
