//! Logs: one line an event, on standard error. Lines for people on a terminal, JSON elsewhere. Bodies, signatures and secrets
//! are never logged, at any level.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, filter::Directive, fmt};

/// What is quiet unless it is asked for by name: libraries that log each statement or connection.
const QUIET: [&str; 4] = ["sqlx=warn", "actix_server=warn", "hyper_util=warn", "apalis_core=warn"];

/// Starts logging. `level` is a level (`info`) or a filter (`oncehook=debug,sqlx=info`). A second call does nothing.
///
/// # Errors
/// When `level` is neither.
pub fn start(level: &str) -> Result<(), String> {
    let mut filter = EnvFilter::try_new(level)
        .map_err(|error| format!("{level:?} is not a log level: use error, warn, info, debug or trace ({error})"))?;
    for quiet in QUIET {
        let target = quiet.split('=').next().unwrap_or(quiet);
        if !level.contains(target) {
            filter = filter.add_directive(quiet.parse::<Directive>().expect("the directives above are well-formed"));
        }
    }
    let logs = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let started = if std::io::stderr().is_terminal() { logs.try_init() } else { logs.json().try_init() };
    // A logger that is there already, as in tests, stays.
    let _ = started;
    Ok(())
}
