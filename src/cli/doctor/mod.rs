//! `oncehook doctor`: looks at everything that an appliance needs, says what it found and what to do about it, and changes
//! nothing. One file a group of checks. It works whether the appliance runs or not: an embedded database is started for the
//! command, if there is one.

mod configuration;
mod database;
mod destinations;
mod disk;
mod finding;
mod sources;
mod work;

use std::process::ExitCode;

use sqlx::PgPool;

use self::finding::{Finding, is_bad, view};
use super::{
    FINDINGS, Globals,
    database_access::server_for_command,
    output::{print, print_json},
};
use crate::{
    blueprint::Blueprint, clock::Clock, config::Config, database::Server, operate::Desk, postgres::Embedded,
    run::Doorbell, store::connect,
};

/// Connections of the doctor: its questions come one after the other.
const CONNECTIONS: u32 = 2;

/// Looks at configuration, database, disk, workers, deliveries, destinations and secrets; says what to do about what it finds.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Does not connect to HTTP destinations.
    #[arg(long)]
    offline: bool,
}

/// Runs the subcommand: exit code 0 without findings, 3 with a warning or a problem.
///
/// # Errors
/// When standard output takes no more, or an embedded database that was started does not stop.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let findings = examine(options, globals).await?;
    if globals.json {
        print_json(&findings)?;
    } else {
        print(&view(&findings))?;
    }
    Ok(if is_bad(&findings) { ExitCode::from(FINDINGS) } else { ExitCode::SUCCESS })
}

async fn examine(options: &Options, globals: &Globals) -> anyhow::Result<Vec<Finding>> {
    let (mut findings, config) = configuration::examine(globals);
    let Some(config) = config else { return Ok(findings) };
    findings.extend(disk::examine_files(&config));
    let destinations = async {
        let unreachable = if options.offline { Vec::new() } else { destinations::examine_reach(&config).await };
        [unreachable, destinations::examine_programs(&config)].concat()
    };
    let (found, of_database) = tokio::join!(destinations, examine_server(&config));
    findings.extend(found);
    findings.extend(of_database?);
    Ok(findings)
}

async fn examine_server(config: &Config) -> anyhow::Result<Vec<Finding>> {
    if config.database.url.is_none() && !Embedded::is_made(&config.data_dir) {
        let found = format!("there is no embedded database in {} yet", config.data_dir.display());
        return Ok(vec![Finding::note("database", found, "oncehook serve makes it at its first start")]);
    }
    let server = match server_for_command(config).await {
        Ok(server) => server,
        Err(error) => return Ok(vec![database::unreachable(&error)]),
    };
    let findings = match connect(config, &server).await {
        Ok(pool) => {
            let findings = examine_database(config, &pool).await;
            pool.close().await;
            findings
        }
        Err(error) => vec![database::unreachable(&error)],
    };
    server.leave().await?;
    Ok(findings)
}

async fn connect(config: &Config, server: &Server) -> anyhow::Result<PgPool> {
    let settings = crate::config::Database { connections_max: CONNECTIONS, ..config.database.clone() };
    // Statements without a name work through PgBouncer in transaction mode too.
    let options = server.connect_options()?.statement_cache_capacity(0);
    Ok(connect::connect(options, &settings, "oncehook doctor").await?)
}

/// What a question found, or that it could not be asked.
fn or_unasked(check: &'static str, answer: Result<Vec<Finding>, impl std::fmt::Display>) -> Vec<Finding> {
    answer.unwrap_or_else(|error| {
        let found = format!("could not be looked at: {error}");
        vec![Finding::problem(check, found, "see what the database says about it in its log")]
    })
}

async fn examine_database(config: &Config, pool: &PgPool) -> Vec<Finding> {
    let clock = Clock::system();
    let mut findings = or_unasked("database", database::examine(config, pool, &clock).await);
    let schema = database::look_at_schema(pool).await;
    let is_usable = schema.as_ref().is_ok_and(|(_, is_usable)| *is_usable);
    findings.extend(or_unasked("schema", schema.map(|(finding, _)| vec![finding])));
    if !is_usable {
        return findings;
    }
    findings.extend(or_unasked("SQL functions", destinations::examine_functions(config, pool).await));
    let Ok(blueprint) = Blueprint::of(std::sync::Arc::new(config.clone()), &clock) else { return findings };
    let desk = Desk { pool: pool.clone(), live: blueprint.live(), bell: Doorbell::default() };
    findings.extend(or_unasked("workers", work::examine(config, pool).await));
    findings.extend(or_unasked("destinations", destinations::examine_health(&desk).await));
    findings.extend(or_unasked("sources", sources::examine(&desk).await));
    findings
}
