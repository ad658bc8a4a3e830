//! The options that every subcommand has, and the configuration behind them.

use std::{convert::Infallible, path::PathBuf};

use secrecy::SecretString;

use super::colour::Palette;
use crate::config::{self, Config, Environment, LoadOptions, Loaded};

/// Options of every subcommand.
#[derive(Debug, Clone, clap::Args)]
pub struct Globals {
    /// The configuration file.
    #[arg(long, global = true, env = "ONCEHOOK_CONFIG", value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Writes JSON for scripts instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    /// How much to log on standard error: error, warn, info, debug, trace, or a filter such as oncehook=debug. Default: info
    /// for `serve` and `work`, warn otherwise.
    #[arg(long, global = true, env = "ONCEHOOK_LOG", value_name = "LEVEL")]
    pub log: Option<String>,
    /// Never writes colours. Without it: on a terminal, unless `NO_COLOR` is set or TERM is "dumb".
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Which appliance elsewhere to ask.
    #[command(flatten)]
    pub remote: Remote,
}

/// Which appliance elsewhere to ask, instead of the database.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Another appliance")]
pub struct Remote {
    /// Asks the appliance whose operator's port is here, such as <https://hooks.example.com:8081>, instead of the database.
    #[arg(long, global = true, env = "ONCEHOOK_URL", value_name = "URL")]
    pub url: Option<url::Url>,
    /// The token to show there. Other users of this machine can see it in the list of processes: better use --token-file or
    /// the variable.
    #[arg(long, global = true, env = "ONCEHOOK_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = secret)]
    pub token: Option<SecretString>,
    /// A file with the token; white space around it does not matter.
    #[arg(long, global = true, env = "ONCEHOOK_TOKEN_FILE", value_name = "PATH", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
}

#[expect(clippy::unnecessary_wraps, reason = "clap's parsers can fail, this one does not")]
fn secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(text.into())
}

impl Globals {
    /// The configuration, with all references resolved.
    ///
    /// # Errors
    /// When there is any mistake in it: all of them are told.
    pub fn load(&self, may_generate: bool) -> anyhow::Result<Loaded> {
        Ok(config::load(&self.load_options(may_generate))?)
    }

    /// What a command needs that only looks: none of the secrets.
    ///
    /// # Errors
    /// When there is a mistake outside of sources, destinations and routes.
    pub fn load_to_look(&self) -> anyhow::Result<Config> {
        Ok(config::load_to_look(&self.load_options(false))?)
    }

    /// What to paint standard output with.
    #[must_use]
    pub fn palette(&self) -> Palette {
        if self.no_color || self.json { Palette::plain() } else { Palette::of_stdout() }
    }

    /// What these options say about where the configuration comes from.
    #[must_use]
    pub fn load_options(&self, may_generate: bool) -> LoadOptions {
        LoadOptions { file: self.config.clone(), environment: Environment::of_process(), may_generate }
    }
}
