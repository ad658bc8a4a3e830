//! Where an appliance is, and what opens it: the options for another appliance, checked; and queries as text.

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::cli::globals::Remote;

/// Refuses an address that is none, or that holds a password.
pub(super) fn check(url: &url::Url) -> anyhow::Result<()> {
    anyhow::ensure!(
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none(),
        "--url must be http://HOST:PORT or https://…, the operator's port, without a user: the token goes into --token-file"
    );
    Ok(())
}

/// Says so if the token can be read on its way.
pub(super) fn warn_if_open(url: &url::Url) {
    if url.scheme() == "http" && !is_this_machine(url) {
        eprintln!("note: the token goes to {} unencrypted: use https, or a tunnel", url.host_str().unwrap_or("-"));
    }
}

fn is_this_machine(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The token, if one is given.
pub(super) fn token(options: &Remote) -> anyhow::Result<Option<SecretString>> {
    if let Some(token) = &options.token {
        return Ok(Some(token.clone()).filter(|token| !token.expose_secret().is_empty()));
    }
    let Some(path) = &options.token_file else { return Ok(None) };
    let text =
        std::fs::read_to_string(path).with_context(|| format!("failed to read --token-file {}", path.display()))?;
    let token = text.trim();
    anyhow::ensure!(!token.is_empty(), "--token-file {} is empty: put the token there", path.display());
    Ok(Some(token.into()))
}

/// The fields of a query that are set, each as text.
pub(super) fn query_pairs(query: &impl Serialize) -> anyhow::Result<Vec<(String, String)>> {
    let serde_json::Value::Object(fields) = serde_json::to_value(query).context("failed to write a query")? else {
        return Ok(Vec::new());
    };
    let pair = |(name, value)| match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some((name, text)),
        other => Some((name, other.to_string())),
    };
    Ok(fields.into_iter().filter_map(pair).collect())
}
