//! Destinations: whether HTTP ones can be reached from this machine, whether SQL functions and programs are there, and how
//! the last attempts went.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use futures_util::future::join_all;
use sqlx::PgPool;
use tokio::{net::TcpStream, time::timeout};

use super::finding::Finding;
use crate::{
    cli::stamp::short_stamp,
    config::{Config, DestinationKind, HttpDestination, SqlDestination},
    deliver::what_a_function_lacks,
    operate::{Breaker, Desk, OperateError},
    store::{self, sql_functions},
};

/// A service that does not take a connection within this is as good as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to each HTTP destination and says nothing there.
pub(super) async fn examine_reach(config: &Config) -> Vec<Finding> {
    let asked = config.destinations.values().filter_map(|destination| match &destination.kind {
        DestinationKind::Http(http) => Some(reach(destination.name.as_str(), http)),
        _ => None,
    });
    join_all(asked).await
}

async fn reach(name: &str, http: &HttpDestination) -> Finding {
    // Only host and port are shown: path and query may hold a token.
    let place = http.url.origin().ascii_serialization();
    let (Some(host), Some(port)) = (http.url.host_str(), http.url.port_or_known_default()) else {
        return Finding::problem("destinations", format!("{name}: {place} has no host"), "write one into its url");
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let why = match timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => {
            return Finding::ok("destinations", format!("{name}: {place} takes connections from this machine"));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {CONNECT_TIMEOUT:?}"),
    };
    let found = format!("{name}: {place} takes no connection from this machine: {why}");
    Finding::warning(
        "destinations",
        found,
        "see that it runs, and that a firewall or a proxy lets this machine through",
    )
}

/// Whether the programs of commands are there and may be run.
pub(super) fn examine_programs(config: &Config) -> Vec<Finding> {
    let found = config.destinations.values().filter_map(|destination| {
        let DestinationKind::Command(command) = &destination.kind else { return None };
        let (name, program) = (&destination.name, command.program.display());
        let why = match fs::metadata(&command.program) {
            Ok(file) if !file.is_file() => "it is no file".to_owned(),
            Ok(file) if file.permissions().mode() & 0o111 == 0 => "it is not executable (chmod +x)".to_owned(),
            Ok(_) => return Some(Finding::ok("commands", format!("{name}: {program} is there"))),
            Err(error) => error.to_string(),
        };
        let found = format!("{name}: {program} cannot be run: {why}");
        Some(Finding::problem("commands", found, "install the program there, or correct `command`"))
    });
    found.collect()
}

/// Whether functions, their schemas and roles are there, and the role may call them.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn examine_functions(config: &Config, pool: &PgPool) -> store::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for destination in config.destinations.values() {
        let DestinationKind::Sql(sql) = &destination.kind else { continue };
        let SqlDestination { schema, function, role, .. } = sql;
        let wanted = sql_functions::Wanted { schema, function, role };
        let found = sql_functions::find(&mut *pool.acquire().await?, wanted).await?;
        let name = &destination.name;
        findings.push(match what_a_function_lacks(sql, &found) {
            None => Finding::ok("SQL functions", format!("{name}: {schema}.{function} can be called as {role}")),
            Some(advice) => {
                // The sentence ends in what to do.
                let (why, instead) = advice.split_once("; ").unwrap_or((&advice, "see docs/sql-destination.md"));
                Finding::problem("SQL functions", format!("{name}: {why}"), instead)
            }
        });
    }
    Ok(findings)
}

/// How the last attempts went, and what is paused.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn examine_health(desk: &Desk) -> Result<Vec<Finding>, OperateError> {
    let mut findings = Vec::new();
    for line in desk.destinations().await? {
        let name = &line.destination;
        if line.breaker == Breaker::Open {
            let at = line.last_failure_at.map_or(String::new(), |at| format!(" at {} UTC", short_stamp(at)));
            let how = line.last_failure.map_or(String::new(), |how| format!(": {how}"));
            let found = format!("{name}: the last attempts all failed, the last one{at}{how}");
            let instead =
                "mend the destination; deliveries retry by themselves, dead ones with oncehook dead-letters retry";
            findings.push(Finding::warning("destinations", found, instead));
        }
        if let Some(pause) = line.paused {
            let found = format!("{name} is paused by {} since {} UTC", pause.by, short_stamp(pause.since));
            findings.push(Finding::note("pauses", found, "resume it when it is meant to work again"));
        }
    }
    for line in desk.routes().await? {
        if let Some(pause) = line.paused {
            let found =
                format!("the route {} is paused by {} since {} UTC", line.route, pause.by, short_stamp(pause.since));
            findings.push(Finding::note("pauses", found, "resume it when it is meant to work again"));
        }
    }
    Ok(findings)
}
