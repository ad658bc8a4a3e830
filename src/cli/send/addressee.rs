//! Which source a letter goes to, and with which secret it is signed: from the configuration, or as the command line says.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};

use crate::{
    config::{Config, Source},
    domain::{Secret, SourceName},
    provider::Provider,
    verify::Scheme,
};

/// A secret that is not the configured one.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SecretOptions {
    /// Signs with the secret in this environment variable, instead of the configured one.
    #[arg(long, value_name = "VARIABLE", conflicts_with = "secret_file")]
    secret_env: Option<String>,
    /// Signs with the secret in this file, instead of the configured one.
    #[arg(long, value_name = "PATH")]
    secret_file: Option<PathBuf>,
}

impl SecretOptions {
    /// Whether the command line names a secret.
    pub(in crate::cli) fn is_given(&self) -> bool {
        self.secret_env.is_some() || self.secret_file.is_some()
    }

    /// The secret that the command line names, if it names one. Like the configuration, it trims one line end of a file.
    fn read(&self, scheme: Scheme) -> anyhow::Result<Option<Secret>> {
        let (origin, text) = if let Some(name) = &self.secret_env {
            #[expect(clippy::disallowed_methods, reason = "the command line names the variable; it is no setting")]
            let text = std::env::var(name).with_context(|| format!("--secret-env: {name} is not usable"))?;
            (name.clone(), text)
        } else if let Some(path) = &self.secret_file {
            let origin = path.display().to_string();
            let text =
                std::fs::read_to_string(path).with_context(|| format!("--secret-file: failed to read {origin}"))?;
            let trimmed = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
            (origin, trimmed.to_owned())
        } else {
            return Ok(None);
        };
        let key = scheme.decode_key(&text);
        key.map(Some).map_err(|error| anyhow!("the secret in {origin} {error}: {}", error.instead()))
    }
}

/// The source that a letter goes to: the one that was named, else the first of the provider.
///
/// # Errors
/// When there is none.
pub(in crate::cli) fn choose_source<'a>(
    config: &'a Config,
    provider: Option<Provider>,
    named: Option<&SourceName>,
) -> anyhow::Result<&'a Source> {
    if let Some(name) = named {
        return config.sources.get(name).with_context(|| {
            let known: Vec<_> = config.sources.keys().map(SourceName::as_str).collect();
            format!("there is no source {name}; the configuration has {}", known.join(", "))
        });
    }
    let provider =
        provider.context("say where it goes with --source: the file's folder is not named for a provider")?;
    config.sources.values().find(|source| source.provider == provider).with_context(|| {
        format!("the configuration has no source with provider = \"{provider}\": name another one with --source")
    })
}

/// How a letter to this source is signed; `None` where it takes unsigned requests and no secret was given.
///
/// # Errors
/// When the source has no secret yet, or the given one is not usable.
pub(in crate::cli) fn choose_seal(
    source: &Source,
    options: &SecretOptions,
) -> anyhow::Result<Option<(Scheme, Secret)>> {
    let scheme = source.scheme.unwrap_or(source.provider.default_scheme());
    if let Some(given) = options.read(scheme)? {
        return Ok(Some((scheme, given)));
    }
    if source.scheme.is_none() {
        return Ok(None);
    }
    let secret = source.secrets.first().with_context(|| {
        format!("the source {} has no secret yet: \"oncehook serve\" makes it at its first start", source.name)
    })?;
    Ok(Some((scheme, secret.clone())))
}
