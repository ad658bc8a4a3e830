//! `oncehook health`: asks the operator's port whether the process lives. For a container's HEALTHCHECK.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;

use super::{
    Globals,
    http_client::{client, local_address},
    output::print,
};

/// Asks a running `serve` (the configured one, or the one at --url) whether it lives; exits 0 if it does, 1 if not.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How long to wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

/// Runs the subcommand.
///
/// # Errors
/// When there is no answer in time, or another one than 200.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let url = match &globals.remote.url {
        Some(url) => url.join("/livez")?,
        None => {
            let listen = local_address(globals.load_to_look()?.admin.listen);
            url::Url::parse(&format!("http://{listen}/livez"))?
        }
    };
    let request = client(1, options.timeout)?.get(url.clone());
    let answer = request.send().await.with_context(|| format!("no answer from {url}"))?;
    anyhow::ensure!(answer.status().is_success(), "{url} answered {}", answer.status());
    print("alive")?;
    Ok(ExitCode::SUCCESS)
}
