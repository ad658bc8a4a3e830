//! What `oncehook doctor` asks a server: its version and limits, its clock, its extensions, its workers. Reads only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// A server, and its settings that matter beside those of `boot_check`.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// Its version as a number: 150018.
    pub version: i32,
    /// Its version in words.
    pub version_name: String,
    /// Connections that it takes from roles that are no superusers.
    pub connections_max: i32,
    /// Connections that there are.
    pub connections: i64,
    /// Where its files are, as it sees it; `None`: our role may not know.
    pub cluster: Option<String>,
    /// Extensions that the job queue needs and that are neither installed nor available.
    pub extensions_absent: Vec<String>,
}

/// Asks the server about itself. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn server_facts(conn: &mut PgConnection) -> Result<ServerFacts> {
    Ok(sqlx::query_as!(
        ServerFacts,
        r#"select current_setting('server_version_num')::integer as "version!",
                  current_setting('server_version') as "version_name!",
                  current_setting('max_connections')::integer
                      - current_setting('superuser_reserved_connections')::integer as "connections_max!",
                  (select count(*) from pg_stat_activity where backend_type = 'client backend') as "connections!",
                  case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end as cluster,
                  array(select name from unnest(array['pgcrypto', 'hstore']) e(name)
                        where name not in (select extname from pg_extension)
                          and name not in (select a.name from pg_available_extensions a)) as "extensions_absent!""#
    )
    .fetch_one(conn)
    .await?)
}

/// The time on the server's own clock, at this moment. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn server_clock(conn: &mut PgConnection) -> Result<DateTime<Utc>> {
    Ok(sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(conn).await?)
}

/// The workers of all processes.
#[derive(Debug, Clone)]
pub struct WorkerFacts {
    /// Workers whose heart-beat is not overdue.
    pub alive: i64,
    /// Workers that are not alive and still hold jobs.
    pub dead_with_jobs: i64,
    /// When one was last seen.
    pub last_seen: Option<DateTime<Utc>>,
}

/// Looks at the workers' heart-beats; `overdue_seconds`: what a live one never exceeds. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn worker_facts(conn: &mut PgConnection, overdue_seconds: f64) -> Result<WorkerFacts> {
    Ok(sqlx::query_as!(
        WorkerFacts,
        r#"select count(*) filter (where is_alive) as "alive!",
                  count(*) filter (where not is_alive and exists (
                      select from apalis.jobs j
                      where j.lock_by = w.id and (j.status = 'Running' or j.status = 'Queued'))) as "dead_with_jobs!",
                  max(last_seen) as last_seen
           from (select id, last_seen, last_seen > now() - make_interval(secs => $1) as is_alive
                 from apalis.workers where worker_type = 'oncehook') w"#,
        overdue_seconds,
    )
    .fetch_one(conn)
    .await?)
}
