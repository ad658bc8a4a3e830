//! What is unfinished, dead, blocked or held now, counted by index and up to a bound. Reads only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;
use crate::domain::ReceiptId;

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

/// Since when a receipt has been held as a suspected replay; `None`: it is not. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn held_since(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Option<DateTime<Utc>>> {
    let held = sqlx::query_scalar!("select held_since from oncehook.receipts where id = $1", receipt.uuid());
    Ok(held.fetch_optional(conn).await?.flatten())
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
pub async fn pending_of_routes(conn: &mut PgConnection, routes: &[String], counted_max: i64) -> Result<Vec<Pending>> {
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
