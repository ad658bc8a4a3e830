//! `oncehook listen`: brings what an appliance receives to a service on this machine, as it came, or signed anew.
//!
//! It asks for new receipts twice a second rather than holding a stream open: that works the same with the database and with every
//! version of the API, and after an interruption it goes on where it was.

mod forward;
mod newcomers;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use anyhow::Context as _;

use self::{
    forward::{Forwarder, Seals},
    newcomers::Newcomers,
};
use super::{
    Globals,
    access::{self, Access},
    failure::{NOT_ALLOWED, USAGE, exit_code},
    send::addressee::{SecretOptions, choose_seal},
    visible::Visible,
};
use crate::{clock::Clock, domain::SourceName, operate::ReceiptQuery};

/// How long to wait between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The longest wait after the appliance could not be asked.
const WAIT_MAX: Duration = Duration::from_secs(15);

/// Brings what an appliance receives to a service on this machine, byte for byte.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Where to post each of them, such as <http://localhost:3000/webhooks>.
    #[arg(long, value_name = "URL", value_parser = target)]
    forward_to: url::Url,
    /// Only receipts of this source.
    #[arg(long, value_name = "NAME")]
    source: Option<SourceName>,
    /// Only this event type: `push`, or `pull_request` for all of its actions.
    #[arg(long = "type", value_name = "EVENT-TYPE")]
    event_type: Option<String>,
    /// Signs each request anew, with the secret that the configuration here has for its source, so that the service can check it.
    /// Without it requests have no signature: the appliance does not give it away.
    #[arg(long)]
    sign: bool,
    #[command(flatten)]
    secret: SecretOptions,
}

/// Runs the subcommand until Ctrl-C.
///
/// # Errors
/// When there is no secret to sign with, or the appliance does not let us in.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let seals = seals(options, globals)?;
    let mut forwarder = Forwarder::to(options.forward_to.clone(), seals, globals.json)?;
    access::with(globals, async |access| {
        tokio::select! {
            ended = listen(access, options, &mut forwarder) => ended,
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
    .await?;
    forwarder.say_goodbye();
    Ok(ExitCode::SUCCESS)
}

/// Goes on for ever, or until nobody reads what it prints.
async fn listen(access: &Access, options: &Options, forwarder: &mut Forwarder) -> anyhow::Result<()> {
    let query = ReceiptQuery {
        source: options.source.as_ref().map(|source| source.as_str().to_owned()),
        event_type: options.event_type.clone(),
        ..ReceiptQuery::default()
    };
    let mut newcomers = Newcomers::since(Clock::system().now());
    // What is there already is not new. The first look must succeed: it shows whether the address and the token are right.
    newcomers.look(access, &query).await?;
    eprintln!("listening; new receipts go to {} (Ctrl-C ends)", Visible(options.forward_to.as_str()));
    let mut wait = LOOK_EVERY;
    loop {
        tokio::time::sleep(wait).await;
        match newcomers.look(access, &query).await {
            Ok(lines) => {
                wait = LOOK_EVERY;
                for line in lines {
                    if !forwarder.forward(access, &line).await? {
                        return Ok(());
                    }
                }
            }
            Err(error) if matches!(exit_code(&error), USAGE | NOT_ALLOWED) => return Err(error),
            Err(error) => {
                wait = (wait * 2).min(WAIT_MAX);
                eprintln!(
                    "the appliance cannot be asked, next try in {}: {}",
                    humantime::format_duration(wait),
                    Visible(&format!("{error:#}"))
                );
            }
        }
    }
}

/// How requests of each source are signed here.
fn seals(options: &Options, globals: &Globals) -> anyhow::Result<Option<Seals>> {
    if !options.sign {
        anyhow::ensure!(!options.secret.is_given(), "a secret was given, but not --sign");
        return Ok(None);
    }
    let config = globals.load(false)?.config;
    let wanted = config.sources.iter().filter(|(name, _)| options.source.as_ref().is_none_or(|only| only == *name));
    let mut seals = BTreeMap::new();
    for (name, source) in wanted {
        let seal = choose_seal(source, &options.secret).with_context(|| format!("--sign: the source {name}"))?;
        if let Some(seal) = seal {
            seals.insert(name.as_str().to_owned(), seal);
        }
    }
    anyhow::ensure!(
        !seals.is_empty(),
        "--sign: the configuration here has no secret for the source: name one with --secret-env"
    );
    Ok(Some(seals))
}

fn target(text: &str) -> Result<url::Url, String> {
    let url: url::Url = text.parse().map_err(|error| format!("{error}: write http://localhost:3000/webhooks"))?;
    let is_usable = matches!(url.scheme(), "http" | "https") && url.has_host();
    if is_usable { Ok(url) } else { Err("write http://localhost:3000/webhooks".to_owned()) }
}
