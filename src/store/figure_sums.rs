//! Figures for people: sums over ranges of time, uses of secrets, health of destinations, and what is unfinished now. Reads
//! only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// Which figures.
#[derive(Debug, Clone, Copy)]
pub struct FigureRange<'a> {
    /// From then, the beginning of a minute, or of an hour if `step_seconds` is a multiple of 3,600.
    pub since: DateTime<Utc>,
    /// Until then.
    pub until: DateTime<Utc>,
    /// One sum for each such step.
    pub step_seconds: i64,
    /// Whether sources are asked for, and which one.
    pub sources: Which<'a>,
    /// Whether destinations are asked for, and which one.
    pub destinations: Which<'a>,
}

/// Which names are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// None.
    None,
    /// All.
    All,
    /// This one.
    One(&'a str),
}

/// One sum.
#[derive(Debug, Clone)]
pub struct FigureSum {
    /// The step, from 0.
    pub step: i64,
    /// Whether it is a source's; otherwise it is a destination's.
    pub is_source: bool,
    /// Its name; empty for requests to sources that do not exist.
    pub name: String,
    /// Whether `what` is a bucket of times.
    pub is_time: bool,
    /// What was counted.
    pub what: String,
    /// How often.
    pub count: i64,
}

/// Sums by step, name and what was counted. Goes by the rows of hours where the steps allow it. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn sum_figures(conn: &mut PgConnection, range: FigureRange<'_>) -> Result<Vec<FigureSum>> {
    let grain = if range.step_seconds % 3_600 == 0 { "hour" } else { "minute" };
    let name_of = |which| if let Which::One(name) = which { Some(name) } else { None };
    Ok(sqlx::query_as!(
        FigureSum,
        r#"select (extract(epoch from f.began_at - $2)::bigint / $4) as "step!", f.kind = 'source' as "is_source!", f.name,
                  w.is_time as "is_time!", w.what as "what!", sum(w.count)::bigint as "count!"
           from oncehook.figures f,
                lateral (select false, key, value::bigint from jsonb_each_text(f.counts)
                         union all
                         select true, key, value::bigint from jsonb_each_text(f.latency)) w(is_time, what, count)
           where f.grain = $1 and f.began_at >= $2 and f.began_at < $3
             and case f.kind when 'source' then $5 and f.name = coalesce($6, f.name)
                             else $7 and f.name = coalesce($8, f.name) end
           group by 1, 2, 3, 4, 5"#,
        grain,
        range.since,
        range.until,
        range.step_seconds,
        range.sources != Which::None,
        name_of(range.sources),
        range.destinations != Which::None,
        name_of(range.destinations),
    )
    .fetch_all(conn)
    .await?)
}

/// The database's time. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>> {
    Ok(sqlx::query_scalar!(r#"select oncehook.now() as "now!""#).fetch_one(conn).await?)
}

/// Deliveries of one state.
#[derive(Debug, Clone)]
pub struct StateCount {
    /// The state.
    pub state: String,
    /// How many.
    pub count: i64,
    /// When the oldest of them was planned; `None` for the dead.
    pub oldest: Option<DateTime<Utc>>,
}

/// Unfinished deliveries by state, of at most `counted_max` that are looked at, and the dead, up to `counted_max`. With more
/// unfinished ones these are lower bounds, and `oldest` is that of the ones looked at. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn count_states(conn: &mut PgConnection, counted_max: i64) -> Result<Vec<StateCount>> {
    Ok(sqlx::query_as!(
        StateCount,
        r#"select state as "state!", count(*) as "count!", min(created_at) as oldest
           from (select state, created_at from oncehook.deliveries where finished_at is null limit $1) unfinished
           group by state
           union all
           select 'dead', count(*), null from (select from oncehook.deliveries where state = 'dead' limit $1) dead"#,
        counted_max,
    )
    .fetch_all(conn)
    .await?)
}

/// Blocked lanes and held receipts, each counted up to `counted_max`. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn count_stopped(conn: &mut PgConnection, counted_max: i64) -> Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"select (select count(*) from (select from oncehook.lanes where blocked_by is not null limit $1) l) as "lanes!",
                  (select count(*) from (select from oncehook.receipts where held_since is not null limit $1) r) as "held!""#,
        counted_max,
    )
    .fetch_one(conn)
    .await?;
    Ok((row.lanes, row.held))
}

/// What is known about the use of one secret.
#[derive(Debug, Clone)]
pub struct SecretUseRow {
    /// Whose.
    pub source: String,
    /// Which.
    pub fingerprint: String,
    /// Its first use.
    pub first_used_at: DateTime<Utc>,
    /// Its last, to about 10 seconds.
    pub last_used_at: DateTime<Utc>,
    /// Requests that it verified.
    pub uses: i64,
}

/// All uses of secrets, of each source the longest unused first: a few rows for each source. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list_secret_uses(conn: &mut PgConnection) -> Result<Vec<SecretUseRow>> {
    Ok(sqlx::query_as!(
        SecretUseRow,
        "select source, fingerprint, first_used_at, last_used_at, uses from oncehook.secret_uses
         order by source, last_used_at"
    )
    .fetch_all(conn)
    .await?)
}

/// When the last receipt of each of these sources came in, in their order. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn last_receipts(conn: &mut PgConnection, sources: &[String]) -> Result<Vec<Option<DateTime<Utc>>>> {
    let rows = sqlx::query_scalar!(
        "select (select r.received_at from oncehook.receipts r where r.source = s.name order by r.id desc limit 1)
         from unnest($1::text[]) with ordinality s(name, place) order by s.place",
        sources,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows)
}

/// How attempts at a destination went.
#[derive(Debug, Clone)]
pub struct HealthRow {
    /// Which.
    pub destination: String,
    /// When one last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When one last failed.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that ended.
    pub last_failure: Option<String>,
    /// How many failed since the last success.
    pub failures_in_a_row: i64,
}

/// All destinations to which there ever was an attempt. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list_health(conn: &mut PgConnection) -> Result<Vec<HealthRow>> {
    Ok(sqlx::query_as!(
        HealthRow,
        "select destination, last_success_at, last_failure_at, last_failure, failures_in_a_row
         from oncehook.destination_health"
    )
    .fetch_all(conn)
    .await?)
}

/// Deliveries of a route, or to a destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pending {
    /// Unfinished ones.
    pub unfinished: i64,
    /// Dead letters.
    pub dead: i64,
}

/// Deliveries of each of these routes, in their order, each counted up to `counted_max`. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn pending_of_routes(
    conn: &mut PgConnection,
    routes: &[String],
    counted_max: i64,
) -> Result<Vec<Pending>> {
    Ok(sqlx::query_as!(
        Pending,
        r#"select (select count(*) from (select from oncehook.deliveries d
                                         where d.route = r.name and d.finished_at is null limit $2) u) as "unfinished!",
                  (select count(*) from (select from oncehook.deliveries d
                                         where d.route = r.name and d.state = 'dead' limit $2) dead) as "dead!"
           from unnest($1::text[]) with ordinality r(name, place) order by r.place"#,
        routes,
        counted_max,
    )
    .fetch_all(conn)
    .await?)
}

/// Deliveries to a destination: the unfinished ones of these routes, which are those that lead there, and all dead ones; each
/// counted up to `counted_max`. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn pending_to_destination(
    conn: &mut PgConnection,
    destination: &str,
    routes: &[String],
    counted_max: i64,
) -> Result<Pending> {
    Ok(sqlx::query_as!(
        Pending,
        r#"select (select count(*) from (select from oncehook.deliveries d
                                         where d.route = any ($2) and d.destination = $1 and d.finished_at is null
                                         limit $3) u) as "unfinished!",
                  (select count(*) from (select from oncehook.deliveries d
                                         where d.destination = $1 and d.state = 'dead' limit $3) dead) as "dead!""#,
        destination,
        routes,
        counted_max,
    )
    .fetch_one(conn)
    .await?)
}
