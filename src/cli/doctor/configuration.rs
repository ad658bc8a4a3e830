//! The configuration: every mistake and every warning of `oncehook check`, and files of secrets that others can read.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::finding::Finding;
use crate::{
    cli::Globals,
    config::{self, Config, ConfigErrors, Loaded},
};

/// Others may read it.
const WORLD_READABLE: u32 = 0o004;

/// What there is to say, and the configuration as far as it can be used for looking further.
pub(super) fn examine(globals: &Globals) -> (Vec<Finding>, Option<Config>) {
    match config::load(&globals.load_options(false)) {
        Ok(loaded) => (of_loaded(&loaded), Some(loaded.config)),
        Err(errors) => (of_mistakes(errors), globals.load_to_look().ok()),
    }
}

fn of_mistakes(errors: ConfigErrors) -> Vec<Finding> {
    let finding = |error: config::ConfigError| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        let key = if error.key.is_empty() { String::new() } else { format!("{} ", error.key) };
        let found = format!("{}{line}: {key}{}", error.file, error.problem);
        Finding::problem("configuration", found, error.instead)
    };
    errors.0.into_iter().map(finding).collect()
}

fn of_loaded(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("configuration", format!("{} can be used", loaded.origin))];
    let warnings = loaded.config.warnings.iter();
    findings.extend(warnings.map(|warning| Finding::warning("configuration", warning, "change it if it is not meant")));
    findings.extend(loaded.to_be_generated.iter().map(|secret| {
        let found = format!("there is no secret yet for the {secret}");
        Finding::note("secrets", found, "oncehook serve makes it at its next start")
    }));
    findings.extend(loaded.secret_files.iter().filter_map(|file| of_secret_file(file)));
    let generated = fs::read_dir(loaded.config.data_dir.join("secrets")).into_iter().flatten().flatten();
    findings.extend(generated.filter_map(|entry| of_secret_file(&entry.path())));
    findings
}

fn of_secret_file(file: &Path) -> Option<Finding> {
    let mode = fs::metadata(file).ok()?.permissions().mode();
    (mode & WORLD_READABLE != 0).then(|| {
        let found =
            format!("every user of this machine can read the secret in {} (mode {:o})", file.display(), mode & 0o7777);
        let instead = format!("chmod o-rwx {}; in a container with one user it does no harm", file.display());
        Finding::warning("secret files", found, instead)
    })
}
