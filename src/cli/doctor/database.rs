//! The database: whether it can be reached and keeps promises, its version, limits, clock, extensions and schema.

use chrono::TimeDelta;
use sqlx::PgPool;

use super::{disk, finding::Finding};
use crate::{
    clock::Clock,
    config::Config,
    store::{
        self,
        boot_check::{self, BootCheckError},
        doctor_facts::{ServerFacts, server_clock, server_facts},
        migrate::{self, SchemaState},
    },
};

/// The newest major version that Oncehook's tests have run on.
const VERSION_TESTED_MAX: i32 = 18;

/// Connections of one process beside `database.connections_max`: recording 2, looking at commands 2, figures 1, operators 4,
/// and 2 for each of two apalis workers.
const OTHER_CONNECTIONS: u32 = 13;

/// A clock that is further off makes signatures look too old or too new, and figures wrong.
const SKEW_MAX: TimeDelta = TimeDelta::seconds(1);

/// There is no way to it.
pub(super) fn unreachable(error: &anyhow::Error) -> Finding {
    let instead = "see that it runs and that database.url is right; without database.url: that PostgreSQL's server programs are \
                   installed and data_dir is ours";
    Finding::problem("database", format!("it cannot be reached: {error:#}"), instead)
}

/// All about the server.
///
/// # Errors
/// When it cannot be asked.
pub(super) async fn examine(config: &Config, pool: &PgPool, clock: &Clock) -> store::Result<Vec<Finding>> {
    let mut conn = pool.acquire().await?;
    let facts = server_facts(&mut conn).await?;
    let mut findings = vec![of_version(&facts)];
    match boot_check::run(&mut conn).await {
        Ok(()) => {
            let found = "takes writes; fsync, full_page_writes and synchronous_commit are on";
            findings.push(Finding::ok("durability", found));
        }
        Err(BootCheckError::Unfit(unfit)) => findings.extend(unfit.problems.into_iter().map(|problem| {
            // What to do stands behind what is wrong, in the words of the start that refuses.
            let (found, instead) = problem.split_once(". ").unwrap_or((&problem, "see docs/operations.md"));
            Finding::problem("durability", found, instead)
        })),
        Err(BootCheckError::Store(error)) => return Err(error),
    }
    findings.push(of_connections(config, &facts));
    if !facts.extensions_absent.is_empty() {
        let found = format!("the server has no {}", facts.extensions_absent.join(", "));
        let instead = "install PostgreSQL's contrib package on the server: apt-get install postgresql-contrib";
        findings.push(Finding::problem("extensions", found, instead));
    }
    let before = clock.now();
    let theirs = server_clock(&mut conn).await?;
    let after = clock.now();
    findings.push(of_clock(theirs - (before + (after - before) / 2)));
    if let (None, Some(cluster)) = (&config.database.url, &facts.cluster) {
        findings.extend(disk::examine_space("cluster", std::path::Path::new(cluster)));
    }
    Ok(findings)
}

fn of_version(facts: &ServerFacts) -> Finding {
    let found = format!("PostgreSQL {}", facts.version_name);
    if facts.version / 10_000 > VERSION_TESTED_MAX {
        let instead = format!("Oncehook is tested with 14 to {VERSION_TESTED_MAX}: look for a newer Oncehook");
        return Finding::note("database", found, instead);
    }
    Finding::ok("database", found)
}

fn of_connections(config: &Config, facts: &ServerFacts) -> Finding {
    let needed = i64::from(config.database.connections_max + OTHER_CONNECTIONS);
    let (most, open) = (i64::from(facts.connections_max), facts.connections);
    let found = format!("max_connections leaves {most}, {open} are open, and one process opens up to {needed}");
    let instead = "raise max_connections on the server, or lower database.connections_max";
    if needed > most {
        Finding::problem("connections", found, instead)
    } else if open * 10 > most * 9 {
        Finding::warning("connections", found, instead)
    } else {
        Finding::ok("connections", found)
    }
}

/// `skew`: how far the server's clock is ahead of ours.
fn of_clock(skew: TimeDelta) -> Finding {
    let seconds = skew.num_milliseconds() as f64 / 1_000.0;
    if skew.abs() <= SKEW_MAX {
        return Finding::ok("clocks", format!("the database's clock is within {:.1} s of ours", seconds.abs()));
    }
    let side = if seconds > 0.0 { "ahead of" } else { "behind" };
    let found = format!("the database's clock is {:.1} s {side} this machine's", seconds.abs());
    Finding::warning("clocks", found, "let both follow a time server: chrony or systemd-timesyncd")
}

/// How the schema stands, and whether its tables can be asked.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn look_at_schema(pool: &PgPool) -> store::Result<(Finding, bool)> {
    let state = migrate::look_at_schema(&mut *pool.acquire().await?).await?;
    Ok(match state {
        SchemaState::Current => (Finding::ok("schema", "it is that of this version"), true),
        SchemaState::Absent => {
            let instead = "oncehook serve or oncehook migrate makes them";
            (Finding::note("schema", "the database has no tables of Oncehook yet", instead), false)
        }
        SchemaState::Behind(missing) => {
            let list: Vec<_> = missing.iter().map(ToString::to_string).collect();
            let found = format!("it lacks the migrations {} of this version", list.join(", "));
            (Finding::warning("schema", found, "run oncehook migrate, or start oncehook serve"), false)
        }
        SchemaState::Newer(version) => {
            let found = format!("it holds migration {version}, of a newer Oncehook than this");
            (Finding::problem("schema", found, "run that version or a newer one"), false)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Severity;

    fn facts(connections_max: i32, connections: i64, version: i32) -> ServerFacts {
        let version_name = (version / 10_000).to_string();
        let (cluster, extensions_absent) = (None, Vec::new());
        ServerFacts { version, version_name, connections_max, connections, cluster, extensions_absent }
    }

    #[test]
    fn a_clock_that_is_more_than_a_second_off_is_a_warning() {
        for (milliseconds, severity) in
            [(0, Severity::Ok), (-1_000, Severity::Ok), (1_001, Severity::Warning), (-90_000, Severity::Warning)]
        {
            assert_eq!(of_clock(TimeDelta::milliseconds(milliseconds)).severity, severity, "{milliseconds} ms");
        }
        assert!(of_clock(TimeDelta::seconds(-90)).found.contains("90.0 s behind"));
    }

    #[test]
    fn versions_beyond_the_tested_ones_are_noted() {
        assert_eq!(of_version(&facts(97, 3, 180_001)).severity, Severity::Ok);
        assert_eq!(of_version(&facts(97, 3, 190_000)).severity, Severity::Note);
    }
}
