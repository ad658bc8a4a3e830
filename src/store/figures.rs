//! `oncehook.figures`, `secret_uses` and `destination_health`: what processes add to them, and what time takes away. The
//! caller sorts what it adds by key, so that processes never wait for each other in a circle.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{Result, deliveries::kept_text};

/// What is added to one minute or hour of one source or destination.
#[derive(Debug, Clone)]
pub struct FigureLine {
    /// `minute` or `hour`.
    pub grain: &'static str,
    /// Which.
    pub began_at: DateTime<Utc>,
    /// `source` or `destination`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// By what was counted.
    pub counts: serde_json::Map<String, serde_json::Value>,
    /// By bucket.
    pub latency: serde_json::Map<String, serde_json::Value>,
}

/// What is added to the uses of one secret.
#[derive(Debug, Clone)]
pub struct UseLine {
    /// Whose secret.
    pub source: String,
    /// Which.
    pub fingerprint: String,
    /// The first of these uses.
    pub first_used_at: DateTime<Utc>,
    /// The last of them.
    pub last_used_at: DateTime<Utc>,
    /// How many.
    pub uses: i64,
}

/// How attempts at a destination went since the last such line of this process.
#[derive(Debug, Clone)]
pub struct HealthLine {
    /// Which.
    pub destination: String,
    /// When one last succeeded, if one did.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When one last failed, if one did.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that ended.
    pub last_failure: Option<String>,
    /// How many failed since the last success.
    pub failures_in_a_row: i64,
}

/// Notes that a process adds its batch of this number in this transaction. False when it has done so before: then nothing of
/// it must be added. Locks the process's own row.
///
/// # Errors
/// Those of the database.
pub async fn mark_flush(conn: &mut PgConnection, process: &str, number: i64) -> Result<bool> {
    let done = sqlx::query!(
        "insert into oncehook.flushes as f (process, number) values ($1, $2)
         on conflict (process) do update set number = excluded.number, flushed_at = oncehook.now()
         where f.number < excluded.number",
        process,
        number,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Adds figures, in one statement. Locks those rows in the order given.
///
/// # Errors
/// Those of the database.
pub async fn add_figures(conn: &mut PgConnection, lines: &[FigureLine]) -> Result<()> {
    let of = |take: fn(&FigureLine) -> String| lines.iter().map(take).collect::<Vec<_>>();
    let json = |map: &serde_json::Map<_, _>| serde_json::Value::Object(map.clone());
    sqlx::query!(
        "insert into oncehook.figures as f (grain, began_at, kind, name, counts, latency)
         select * from unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::jsonb[], $6::jsonb[])
         on conflict (grain, began_at, kind, name) do update set
             counts = oncehook.add_counts(f.counts, excluded.counts),
             latency = oncehook.add_counts(f.latency, excluded.latency)",
        &of(|line| line.grain.to_owned()),
        &lines.iter().map(|line| line.began_at).collect::<Vec<_>>(),
        &of(|line| line.kind.to_owned()),
        &of(|line| line.name.clone()),
        &lines.iter().map(|line| json(&line.counts)).collect::<Vec<_>>(),
        &lines.iter().map(|line| json(&line.latency)).collect::<Vec<_>>(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds uses of secrets, in one statement. Locks those rows in the order given.
///
/// # Errors
/// Those of the database.
pub async fn add_uses(conn: &mut PgConnection, lines: &[UseLine]) -> Result<()> {
    sqlx::query!(
        "insert into oncehook.secret_uses as u (source, fingerprint, first_used_at, last_used_at, uses)
         select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[])
         on conflict (source, fingerprint) do update set
             first_used_at = least(u.first_used_at, excluded.first_used_at),
             last_used_at = greatest(u.last_used_at, excluded.last_used_at),
             uses = u.uses + excluded.uses",
        &lines.iter().map(|line| line.source.clone()).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.fingerprint.clone()).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.first_used_at).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.last_used_at).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.uses).collect::<Vec<_>>(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds how attempts went, in one statement. Of two processes the later success or failure stays. Locks those rows in the
/// order given.
///
/// # Errors
/// Those of the database.
pub async fn add_health(conn: &mut PgConnection, lines: &[HealthLine]) -> Result<()> {
    // A success of this process ends the row of failures, whichever process had them.
    sqlx::query!(
        "insert into oncehook.destination_health as h
             (destination, last_success_at, last_failure_at, last_failure, failures_in_a_row)
         select * from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::text[], $5::bigint[])
         on conflict (destination) do update set
             last_success_at = greatest(h.last_success_at, excluded.last_success_at),
             last_failure_at = greatest(h.last_failure_at, excluded.last_failure_at),
             last_failure = case when excluded.last_failure_at >= coalesce(h.last_failure_at, '-infinity')
                                 then excluded.last_failure else h.last_failure end,
             failures_in_a_row = excluded.failures_in_a_row
                                 + case when excluded.last_success_at is null then h.failures_in_a_row else 0 end",
        &lines.iter().map(|line| line.destination.clone()).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.last_success_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &lines.iter().map(|line| line.last_failure_at).collect::<Vec<_>>() as &[Option<DateTime<Utc>>],
        &lines.iter().map(|line| line.last_failure.as_deref().map(kept_text)).collect::<Vec<_>>()
            as &[Option<String>],
        &lines.iter().map(|line| line.failures_in_a_row).collect::<Vec<_>>(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes figures from before the longest range that can be asked for, at most `rows_max`. Passes over locked rows.
///
/// # Errors
/// Those of the database.
pub async fn prune_figures(conn: &mut PgConnection, rows_max: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from oncehook.figures where (grain, began_at, kind, name) in (
             select grain, began_at, kind, name from oncehook.figures
             where grain in ('minute', 'hour') and began_at < oncehook.now() - interval '32 days'
             limit $1 for update skip locked)",
        rows_max,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes the marks of processes that have not written for a week, at most `rows_max`. Passes over locked rows.
///
/// # Errors
/// Those of the database.
pub async fn prune_flushes(conn: &mut PgConnection, rows_max: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from oncehook.flushes where process in (
             select process from oncehook.flushes where flushed_at < oncehook.now() - interval '7 days'
             limit $1 for update skip locked)",
        rows_max,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
