//! `oncehook.pauses`: routes and destinations where nothing begins. `next_turn` looks at it; here is how they begin and end,
//! and how what waited is woken.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Result;
use crate::domain::JobId;

/// One pause.
#[derive(Debug, Clone)]
pub struct PauseRow {
    /// `route` or `destination`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Who paused it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// Begins a pause. False when there is one. Locks nothing that exists.
///
/// # Errors
/// Those of the database.
pub async fn begin_pause(
    conn: &mut PgConnection,
    kind: &str,
    name: &str,
    by: &str,
    reason: Option<&str>,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into oncehook.pauses (kind, name, by, reason) values ($1, $2, $3, $4) on conflict do nothing",
        kind,
        name,
        by,
        reason,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a pause, and gives since when there was one. Locks its row.
///
/// Commit before you bring forward what waited: who parks a job looks at the pause afterwards, and either sees that it is
/// over, or has parked before you look for parked jobs.
///
/// # Errors
/// Those of the database.
pub async fn end_pause(conn: &mut PgConnection, kind: &str, name: &str) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar!("delete from oncehook.pauses where kind = $1 and name = $2 returning since", kind, name)
        .fetch_optional(conn)
        .await?)
}

/// All pauses, by kind and name. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn list_pauses(conn: &mut PgConnection) -> Result<Vec<PauseRow>> {
    Ok(sqlx::query_as!(PauseRow, "select kind, name, since, by, reason from oncehook.pauses order by kind desc, name")
        .fetch_all(conn)
        .await?)
}

/// Makes a job that was parked for a pause due at once, if no pause of these is left. Locks the job's row.
///
/// # Errors
/// Those of the database.
pub async fn bring_forward_if_resumed(
    conn: &mut PgConnection,
    job: JobId,
    route: &str,
    destination: &str,
) -> Result<bool> {
    let done = sqlx::query!(
        "update apalis.jobs set run_at = oncehook.now() - interval '1 s'
         where id = $1 and status = 'Pending'
           and not exists (select from oncehook.pauses p
                           where (p.kind, p.name) in (('route', $2), ('destination', $3)))",
        job.to_string(),
        route,
        destination,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A lane as a place to go on from.
pub type LanePlace = (String, String);

/// Looks at the next `lanes_max` lanes behind `after`, and makes those whose head waits for this pause due at once. Gives
/// the last one that it looked at; `None` when there was none.
///
/// Locks the rows of parked jobs, and passes over locked ones: those are being fetched or replaced this moment.
///
/// # Errors
/// Those of the database.
pub async fn bring_lanes_forward(
    conn: &mut PgConnection,
    kind: &str,
    name: &str,
    after: Option<LanePlace>,
    lanes_max: i64,
) -> Result<Option<LanePlace>> {
    let (route, key) = after.unwrap_or_default();
    let last = sqlx::query!(
        "with looked_at as (
             select l.route, l.ordering_key, l.job_id from oncehook.lanes l
             where (l.route, l.ordering_key) > ($3, $4) and ($1 <> 'route' or l.route = $2)
             order by l.route, l.ordering_key limit $5
         ), parked as (
             select j.id from looked_at s
             join apalis.jobs j on j.id = s.job_id and j.status = 'Pending' and j.run_at > oncehook.now()
             cross join lateral (
                 select d.destination, d.due_at from oncehook.deliveries d
                 where d.route = s.route and d.ordering_key = s.ordering_key and d.finished_at is null
                 order by d.place, d.seq limit 1) head
             where head.due_at <= oncehook.now() and ($1 <> 'destination' or head.destination = $2)
             for update of j skip locked
         ), woken as (
             update apalis.jobs j set run_at = oncehook.now() - interval '1 s' from parked p where j.id = p.id
         )
         select route, ordering_key from looked_at order by route desc, ordering_key desc limit 1",
        kind,
        name,
        route,
        key,
        lanes_max,
    )
    .fetch_optional(conn)
    .await?;
    Ok(last.map(|last| (last.route, last.ordering_key)))
}

/// The same for deliveries without a lane.
///
/// # Errors
/// Those of the database.
pub async fn bring_lone_deliveries_forward(
    conn: &mut PgConnection,
    kind: &str,
    name: &str,
    after: Option<Uuid>,
    deliveries_max: i64,
) -> Result<Option<Uuid>> {
    Ok(sqlx::query_scalar!(
        "with looked_at as (
             select d.id, d.job_id, d.due_at, case when $1 = 'route' then d.route else d.destination end as name
             from oncehook.deliveries d
             where d.ordering_key is null and d.finished_at is null and d.id > $3 order by d.id limit $4
         ), parked as (
             select j.id from looked_at s
             join apalis.jobs j on j.id = s.job_id and j.status = 'Pending' and j.run_at > oncehook.now()
             where s.name = $2 and s.due_at <= oncehook.now()
             for update of j skip locked
         ), woken as (
             update apalis.jobs j set run_at = oncehook.now() - interval '1 s' from parked p where j.id = p.id
         )
         select id from looked_at order by id desc limit 1",
        kind,
        name,
        after.unwrap_or_default(),
        deliveries_max,
    )
    .fetch_optional(conn)
    .await?)
}
