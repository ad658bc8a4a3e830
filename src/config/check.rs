//! What `oncehook check` says: reads everything, changes nothing, and prints what is wrong, what should be seen, and what
//! the configuration comes to.

use std::fmt;

use super::{Config, ConfigError, DestinationKind, LoadOptions, Loaded, OnDead, Order, load};
use crate::domain::{DestinationName, Fingerprint};

/// The outcome of a check, to print or to serialise.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Report {
    /// The file that was read; empty where none could be.
    pub file: Option<String>,
    /// Mistakes: `serve` would refuse to start.
    pub errors: Vec<ConfigError>,
    /// What works but should be seen.
    pub warnings: Vec<String>,
    /// Secrets that `serve` will make: `source github in data/secrets/source-github`.
    pub to_be_generated: Vec<String>,
    /// One sentence for each source, destination and route.
    pub summary: Vec<String>,
}

/// Checks a configuration. Nothing is written, whatever the options say.
#[must_use]
pub fn check(options: &LoadOptions) -> Report {
    match load(&LoadOptions { may_generate: false, ..options.clone() }) {
        Ok(Loaded { config, origin, to_be_generated, .. }) => Report {
            file: Some(origin.to_string()),
            errors: Vec::new(),
            summary: summarise(&config),
            warnings: [handlers_needed(&config), config.warnings].concat(),
            to_be_generated,
        },
        Err(errors) => Report {
            file: None,
            errors: errors.0,
            warnings: Vec::new(),
            to_be_generated: Vec::new(),
            summary: Vec::new(),
        },
    }
}

impl Report {
    /// Whether `serve` would start.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            writeln!(f, "{file}: good\n")?;
        }
        for line in &self.summary {
            writeln!(f, "  {line}")?;
        }
        for secret in &self.to_be_generated {
            writeln!(f, "\nnote: the next start generates the secret of {secret}")?;
        }
        for warning in &self.warnings {
            writeln!(f, "\nwarning: {warning}")?;
        }
        for error in &self.errors {
            writeln!(f, "{error}\n")?;
        }
        match self.errors.len() {
            0 => Ok(()),
            1 => writeln!(f, "1 mistake: serve would refuse to start"),
            many => writeln!(f, "{many} mistakes: serve would refuse to start"),
        }
    }
}

/// Handlers are registered by a program, so that a file cannot tell whether they are there.
fn handlers_needed(config: &Config) -> Vec<String> {
    let warning = |name: &DestinationName| {
        format!(
            "destinations.{name} needs a Rust handler named {name:?}: the oncehook command has none and would refuse to \
             start; only a program that embeds Oncehook and registers one can run this configuration"
        )
    };
    let handlers = config.destinations.values().filter(|end| matches!(end.kind, DestinationKind::Handler(_)));
    handlers.map(|end| warning(&end.name)).collect()
}

fn summarise(config: &Config) -> Vec<String> {
    let database = if config.database.url.is_some() { "a PostgreSQL of your own" } else { "an embedded PostgreSQL" };
    let mut lines = vec![format!("database: {database}; files in {}", config.data_dir.display())];
    for source in config.sources.values() {
        let prints: Vec<&str> = source.secrets.iter().map(|secret| secret.fingerprint().as_str()).collect();
        let signed = match (source.scheme, prints.as_slice()) {
            (None, _) => "UNSIGNED".to_owned(),
            (Some(_), []) => "a secret to be generated".to_owned(),
            (Some(_), prints) => format!("secrets with the fingerprints {}", prints.join(", ")),
        };
        lines.push(format!("source {}: /hooks/{}, {signed}", source.name, source.name));
        for caller in &source.callers {
            let prints: Vec<&str> = caller.secrets.iter().map(Fingerprint::as_str).collect();
            let prints = if prints.is_empty() { "to be generated".to_owned() } else { prints.join(", ") };
            lines.push(format!("caller {} of {}: secrets {prints}", caller.name, source.name));
        }
    }
    for destination in config.destinations.values() {
        let kind = match &destination.kind {
            DestinationKind::Log => "writes to the log".to_owned(),
            // Path and query may hold a token.
            DestinationKind::Http(http) => format!("posts to {}", http.url.origin().ascii_serialization()),
            // Arguments may hold a token.
            DestinationKind::Sql(sql) => format!("calls {}.{} as {}", sql.schema, sql.function, sql.role),
            DestinationKind::Handler(_) => "is run by a Rust handler of its name".to_owned(),
            DestinationKind::Command(command) => format!("runs {}", command.program.display()),
        };
        lines.push(format!("destination {}: {kind}", destination.name));
    }
    for route in &config.routes {
        let order = match route.order {
            Order::Arrival => "in order of arrival",
            Order::Event => "in order of event time",
            Order::None => "in no order",
        };
        let blocks = if route.on_dead == OnDead::Block { ", a dead delivery blocks its lane" } else { "" };
        let compensation = route.on_dead_destination.as_ref();
        let compensation = compensation.map_or(String::new(), |name| format!(", dead deliveries are told to {name}"));
        let filter = if route.filter.is_some() { ", filtered" } else { "" };
        let events = route.events.join(", ");
        lines.push(format!(
            "route {}: {} [{events}]{filter} → {}, {order}{blocks}{compensation}",
            route.name, route.source, route.destination
        ));
    }
    lines
}
