//! `oncehook.figures` for people: sums over ranges of time. Reads only.

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
