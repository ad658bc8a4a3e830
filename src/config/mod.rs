//! Configuration: the only reader of files and environment.
//!
//! It takes a TOML file and the environment, and gives a [`Config`] in which every reference is resolved and every check
//! has passed, or all mistakes at once. It never shows the value of a secret.

mod admin;
mod callers;
mod check;
mod command;
mod compiled;
mod destinations;
mod environment;
mod error;
mod generated;
mod kinds;
mod lanes;
mod locate;
mod placeholder;
mod rate;
mod reader;
mod routes;
mod schema;
mod secret;
mod settings;
mod sources;
mod sql;
#[cfg(test)]
mod tests;
mod tree;
mod units;

use std::{collections::BTreeSet, path::PathBuf};

pub use check::{Report, check};
pub use command::CommandDestination;
pub use compiled::*;
pub use environment::Environment;
pub use error::{ConfigError, ConfigErrors};
pub use generated::GeneratedSecret;
pub use locate::{Origin, USUAL_PLACES};

pub(crate) use rate::parse as parse_rate;
pub(crate) use schema::nearest;

use crate::domain::SourceName;
use error::Findings;
use generated::Plan;
use reader::Reader;
use secret::Resolver;
use tree::{Node, Place, Value};

/// What to load.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The file of `--config`, which must exist. `None`: the first of [`USUAL_PLACES`], or the shipped configuration.
    pub file: Option<PathBuf>,
    /// The variables that override it, and that secrets are taken from.
    pub environment: Environment,
    /// Whether secrets that are `generated` are made now, where there is none yet. Only commands that use them may.
    pub may_generate: bool,
}

/// A configuration, and what happened on the way to it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Where it came from.
    pub origin: Origin,
    /// Secrets that were made just now, to be shown once.
    pub generated: Vec<GeneratedSecret>,
    /// `source github in /…`: secrets that the next start will make. Empty where `may_generate` was set. Until then the
    /// source has no secret, and refuses every request.
    pub to_be_generated: Vec<String>,
    /// The files that secrets were read from.
    pub secret_files: Vec<PathBuf>,
}

/// Loads the configuration.
///
/// # Errors
/// All mistakes in it, each with its place and what to write instead. Nothing has been written then.
pub fn load(options: &LoadOptions) -> Result<Loaded, ConfigErrors> {
    load_from(options, &USUAL_PLACES.map(PathBuf::from))
}

/// Loads what is needed to look at a running or resting Oncehook: the folder, the database, the ports.
///
/// Mistakes in sources, destinations, routes and tokens are passed over, so that an operator's shell needs none of the secrets.
///
/// # Errors
/// All other mistakes, as [`load`] tells them.
pub fn load_to_look(options: &LoadOptions) -> Result<Config, ConfigErrors> {
    let (origin, text) = locate::locate(options.file.as_deref(), &USUAL_PLACES.map(PathBuf::from));
    let findings = Findings::of(origin.to_string());
    let compiled = match text {
        Ok(text) => compile(&text, &options.environment, &findings),
        Err(obstacle) => return Err(obstacle.conclude().expect_err("an obstacle is a mistake")),
    };
    if let Err(ConfigErrors(mut errors)) = findings.conclude() {
        errors.retain(|error| {
            !["sources", "destinations", "routes", "admin.tokens"].iter().any(|part| error.key.starts_with(part))
        });
        if !errors.is_empty() || compiled.is_none() {
            return Err(ConfigErrors(errors));
        }
    }
    Ok(compiled.expect("a text that is no TOML is a mistake without a key").0)
}

fn load_from(options: &LoadOptions, places: &[PathBuf]) -> Result<Loaded, ConfigErrors> {
    let (origin, text) = locate::locate(options.file.as_deref(), places);
    let findings = Findings::of(origin.to_string());
    let compiled = match text {
        Ok(text) => compile(&text, &options.environment, &findings),
        Err(obstacle) => return Err(obstacle.conclude().expect_err("an obstacle is a mistake")),
    };
    if origin == Origin::Shipped {
        let tried: Vec<String> = places.iter().map(|path| Origin::File(path.clone()).to_string()).collect();
        findings.warn(format!(
            "there is no file at {}: this is the configuration shipped for trying out",
            tried.join(" or ")
        ));
    }
    let secret_files = findings.secret_files();
    let warnings = findings.conclude()?;
    let (mut config, plans) = compiled.expect("without a mistake there is a configuration");
    config.warnings = warnings;
    let mut loaded = Loaded { config, origin, generated: Vec::new(), to_be_generated: Vec::new(), secret_files };
    for plan in plans {
        if options.may_generate {
            loaded.generate(&plan)?;
        } else {
            loaded.to_be_generated.push(format!("{plan} in {}", plan.path.display()));
        }
    }
    Ok(loaded)
}

/// `None`: the text is no TOML, which has been reported.
fn compile(text: &str, environment: &Environment, findings: &Findings) -> Option<(Config, Vec<Plan>)> {
    let mut entries = tree::parse_document(text, findings)?;
    environment.overlay(&mut entries, findings);
    let node = Node { value: Value::Table(entries), place: Place::File };
    let top = Reader::new(&node, &schema::TOP, String::new(), findings);
    let data_dir = PathBuf::from(top.text("data_dir", "data").unwrap_or("data"));
    if data_dir.as_os_str().is_empty() {
        top.mistake("data_dir", "is empty", "write the path of a folder, such as \"data\" or \"/var/lib/oncehook\"");
    }
    let resolver = Resolver { environment, findings, data_dir: &data_dir };
    let intake = settings::intake(&top);
    let (sources, mut plans) = sources::sources(&top, &resolver, intake.in_flight_bytes_max);
    let allow_commands = top.flag("allow_commands").unwrap_or(false);
    let (destinations, more) = destinations::destinations(&top, &resolver, allow_commands);
    plans.extend(more);
    let ends = routes::Ends { sources: &sources, destinations: &destinations, written: &written(&top) };
    let config = Config {
        database: settings::database(&top, &resolver),
        admin: admin::admin(&top, &intake, &resolver, &sources),
        record: settings::record(&top),
        run: settings::run(&top),
        shutdown: settings::shutdown(&top),
        routes: routes::routes(&top, ends),
        intake,
        sources,
        destinations,
        data_dir: data_dir.clone(),
        warnings: Vec::new(),
    };
    top.finish();
    Some((config, plans))
}

fn written(top: &Reader<'_>) -> BTreeSet<(&'static str, String)> {
    let names = |key, word: &'static str| match top.node(key).map(|node| &node.value) {
        Some(Value::Table(entries)) => entries.keys().map(|name| (word, name.clone())).collect(),
        _ => Vec::new(),
    };
    let built_in = [("source", SourceName::OUTBOX.to_owned())];
    let all = names("sources", "source").into_iter().chain(names("destinations", "destination"));
    all.chain(built_in).collect()
}

impl Loaded {
    fn generate(&mut self, plan: &Plan) -> Result<(), ConfigErrors> {
        let refuse = |problem: String, instead: &str| {
            let findings = Findings::of(plan.path.display().to_string());
            findings.mistake(&Place::File, &format!("{}s.{}", plan.owner, plan.name), problem, instead);
            findings.conclude().expect_err("a mistake was just reported")
        };
        let (text, is_new) = plan.carry_out().map_err(|error| {
            refuse(format!("the generated secret cannot be kept: {error}"), "let Oncehook write to data_dir")
        })?;
        let (secret, _) = secret::check(&text, plan.purpose())
            .map_err(|refusal| refuse(format!("the secret {}", refusal.problem), &refusal.instead))?;
        if is_new {
            let secret = text.into();
            self.generated.push(GeneratedSecret { for_what: plan.to_string(), path: plan.path.clone(), secret });
        }
        let (name, caller) = plan.name.split_once('.').unwrap_or((&plan.name, callers::DEFAULT));
        for source in self.config.sources.values_mut().filter(|s| plan.owner == "source" && s.name.as_str() == name) {
            source.secrets.push(secret.clone());
            for caller in source.callers.iter_mut().filter(|known| known.name.as_str() == caller) {
                caller.secrets.push(secret.fingerprint().clone());
            }
        }
        for destination in self.config.destinations.values_mut() {
            if let DestinationKind::Http(http) = &mut destination.kind
                && plan.owner == "destination"
                && destination.name.as_str() == plan.name
            {
                http.secret = Some(secret.clone());
            }
        }
        Ok(())
    }
}
