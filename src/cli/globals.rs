//! The options that every subcommand has, and the configuration behind them.

use std::path::PathBuf;

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

    /// What these options say about where the configuration comes from.
    #[must_use]
    pub fn load_options(&self, may_generate: bool) -> LoadOptions {
        LoadOptions { file: self.config.clone(), environment: Environment::of_process(), may_generate }
    }
}
