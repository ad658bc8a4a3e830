//! `oncehook send`: plays the provider. Takes a fixture, signs it, posts it, and prints what is answered; with `--repeat`
//! it is a small load tool.

pub(super) mod addressee;
pub(super) mod fresh_id;
pub(super) mod letter;
pub(super) mod load;
pub(super) mod post;
mod view;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::Context as _;
use chrono::{DateTime, TimeDelta, Utc};

use self::{
    addressee::{SecretOptions, choose_seal, choose_source},
    fresh_id::fresh_id,
    letter::{Letter, SealedLetter},
    load::run_load,
    post::post,
};
use super::{
    Globals,
    http_client::{client, local_address},
    output::{print, print_json},
};
use crate::{
    clock::Clock,
    config::Config,
    domain::{DeliveryId, SourceName},
    fixture::{Change, Fixture},
    provider::Provider,
    verify::Scheme,
};

/// How long to wait for an answer: GitHub waits 10 s, Stripe longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of signed bodies that are kept ready; more would only show how the machine swaps.
const PREPARED_BYTES_MAX: usize = 1 << 30;

/// Plays the provider: signs a fixture, posts it, and prints the answer.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Who sends (`github`, `stripe`, `standard_webhooks`, `api`), or the path of a .http file.
    #[arg(value_name = "PROVIDER|FILE.http", required_unless_present = "list")]
    provider: Option<String>,
    /// Which of its fixtures: push, invoice.paid; --list shows all.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Shows the fixtures that are built in.
    #[arg(long)]
    list: bool,
    /// Where to post. Default: the configured port on this machine, /hooks/SOURCE.
    #[arg(long, value_name = "URL")]
    to: Option<url::Url>,
    /// The source whose secret signs. Default: the first source of the provider.
    #[arg(long, value_name = "NAME")]
    source: Option<SourceName>,
    /// The delivery id. Default: a fresh one. The same id twice is a redelivery.
    #[arg(long, value_name = "ID", value_parser = delivery_id)]
    id: Option<String>,
    #[command(flatten)]
    secret: SecretOptions,
    /// Changes a value of the body before signing: `ref=refs/heads/x`, `data.object.id=in_7`. The value must be there.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Change>,
    /// The time in the signature: 2026-01-05T10:00:00Z, or from now: -5m, +1h. Default: now. GitHub signs none.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = signing_time)]
    at: Option<DateTime<Utc>>,
    /// How many requests to send, each with a fresh id unless --id is set.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Over how many connections, with --repeat.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    concurrency: u16,
}

/// Runs the subcommand: exit code 0 if every answer was a 2xx, 1 otherwise.
///
/// # Errors
/// When there is no such fixture or source, or no answer.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    if options.list {
        return list(globals);
    }
    let config = globals.load(false)?.config;
    let (provider, fixture) = find_fixture(options)?;
    let source = choose_source(&config, provider, options.source.as_ref())?;
    let seal = choose_seal(source, &options.secret)?;
    let letter = Letter::of(source.provider, fixture, seal, &options.changes)?;
    let letters = prepare(options, &letter)?;
    let url = target(options, &config, &source.name)?;
    let concurrency = usize::from(options.concurrency).min(letters.len());
    let client = client(concurrency, ANSWER_TIMEOUT)?;
    if let [only] = letters.as_slice() {
        let began = std::time::Instant::now();
        let answer = post(&client, &url, only).await.map_err(|why| no_answer(&url, &why))?;
        let exchange = view::Exchange { url: &url, letter: only, answer: &answer, took: began.elapsed() };
        if globals.json {
            print_json(&exchange.json())?;
        } else {
            print(&exchange.view())?;
        }
        return Ok(exit_code(answer.is_success()));
    }
    let report = run_load(&client, &url, letters, concurrency).await;
    if globals.json {
        print_json(&report)?;
    } else {
        print(&report.view())?;
    }
    Ok(exit_code(report.all_succeeded()))
}

fn exit_code(is_success: bool) -> ExitCode {
    if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list(globals: &Globals) -> anyhow::Result<ExitCode> {
    let names = Fixture::names();
    if globals.json {
        print_json(&names)?;
    } else {
        let lines: Vec<_> = names.iter().map(|known| format!("{} {}", known.provider, known.name)).collect();
        print(&lines.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The fixture, and who sends it where that is known: the word given, or the folder of the file.
fn find_fixture(options: &Options) -> anyhow::Result<(Option<Provider>, Fixture)> {
    let word = options.provider.as_deref().context("say what to send: \"oncehook send --list\" shows what there is")?;
    if let Some(name) = &options.name {
        return Ok((Some(word.parse()?), Fixture::built_in(word, name)?));
    }
    let path = Path::new(word);
    anyhow::ensure!(
        path.extension().is_some_and(|extension| extension == "http"),
        "say which fixture of {word}: \"oncehook send --list\" shows all; a file's name must end in .http"
    );
    let file = std::fs::read(path).with_context(|| format!("failed to read {word}"))?;
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let fixture = Fixture::parse(&file).with_context(|| format!("{word} is not a fixture"))?;
    Ok((folder.and_then(|name| name.parse().ok()), fixture))
}

fn prepare(options: &Options, letter: &Letter) -> anyhow::Result<Vec<SealedLetter>> {
    let number = usize::try_from(options.repeat).context("--repeat is too large")?;
    let copies = if letter.provider == Provider::Stripe { number } else { 1 };
    anyhow::ensure!(
        letter.body.len().saturating_mul(copies) <= PREPARED_BYTES_MAX,
        "--repeat {number} needs more than 1 GiB of signed bodies: send fewer at a time"
    );
    if options.at.is_some() && letter.seal.as_ref().is_none_or(|(scheme, _)| *scheme == Scheme::GitHub) {
        eprintln!("note: --at changes nothing here, no time is signed; --set changes times in the body");
    }
    let at = options.at.unwrap_or_else(|| Clock::system().now());
    (0..number)
        .map(|_| {
            let id = options.id.clone().unwrap_or_else(|| fresh_id(letter.provider));
            letter.seal(&id, at).context("failed to prepare the request")
        })
        .collect()
}

fn target(options: &Options, config: &Config, source: &SourceName) -> anyhow::Result<url::Url> {
    if let Some(url) = &options.to {
        return Ok(url.clone());
    }
    let listen = local_address(config.intake.listen);
    url::Url::parse(&format!("http://{listen}/hooks/{source}")).context("failed to make the URL of the source")
}

fn no_answer(url: &url::Url, why: &str) -> anyhow::Error {
    anyhow::anyhow!("no answer from {url}: {why} (does \"oncehook serve\" run?)")
}

/// A time, or how long before (`-5m`) or after (`+5m`) now.
fn signing_time(text: &str) -> Result<DateTime<Utc>, String> {
    time_from(text, Clock::system().now())
}

fn time_from(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time.to_utc());
    }
    let while_of = |text: &str| TimeDelta::from_std(humantime::parse_duration(text).ok()?).ok();
    let time = match (text.strip_prefix('-'), text.strip_prefix('+')) {
        (Some(ago), _) => while_of(ago).and_then(|ago| now.checked_sub_signed(ago)),
        (_, Some(ahead)) => while_of(ahead).and_then(|ahead| now.checked_add_signed(ahead)),
        _ => None,
    };
    time.ok_or_else(|| {
        "write a time such as 2026-01-05T10:00:00Z, or how long before or after now: -5m, +1h".to_owned()
    })
}

fn delivery_id(text: &str) -> Result<String, String> {
    DeliveryId::parse(text.as_bytes()).map(|id| id.as_str().to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample::morning;

    #[test]
    fn a_signing_time_is_a_time_or_a_while_from_now() {
        for (text, time) in [
            ("2026-01-05T12:00:00+02:00", "2026-01-05T10:00:00+00:00"),
            ("-5m", "2026-01-05T09:55:00.250+00:00"),
            ("+1h 30m", "2026-01-05T11:30:00.250+00:00"),
        ] {
            assert_eq!(time_from(text, morning()).unwrap().to_rfc3339(), time);
        }
        for text in ["", "5m", "-", "-soon", "tomorrow", "-10000000000y"] {
            assert!(time_from(text, morning()).unwrap_err().contains("-5m, +1h"), "{text}");
        }
    }
}
