//! Dead letters by what they died of. Hops from group to group along their index, so that a hundred thousand of one group cost
//! no more than counting them.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, QueryBuilder};

use super::{Result, delivery_search::DeliveryCriteria};

/// Dead letters of one group are counted up to here: the index is read for each.
pub const COUNTED_MAX: i64 = 100_000;

/// Groups that are looked at: more kinds of errors than that are no groups.
const GROUPS_MAX: i64 = 1_000;

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct GroupRow {
    /// Names it.
    pub dead_group: String,
    /// The route.
    pub route: String,
    /// The destination.
    pub destination: String,
    /// The error of the youngest.
    pub error: String,
    /// How many there are, up to [`COUNTED_MAX`].
    pub count: i64,
    /// When the first of those died.
    pub first_at: DateTime<Utc>,
    /// When the last of those died.
    pub last_at: DateTime<Utc>,
}

/// The groups of the dead letters that pass, the largest first. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn dead_letter_groups(conn: &mut PgConnection, criteria: &DeliveryCriteria) -> Result<Vec<GroupRow>> {
    const GROUP: &str = "oncehook.dead_letter_group(d.route, d.destination, d.last_error)";
    let mut sql = QueryBuilder::new(format!(
        "with recursive groups as (
             (select {GROUP} as name from oncehook.deliveries d where d.state = 'dead' order by 1 limit 1)
             union all
             select (select {GROUP} from oncehook.deliveries d where d.state = 'dead' and {GROUP} > g.name order by 1 limit 1)
             from groups g where g.name is not null
         )
         select g.name as dead_group, y.route, y.destination, y.error, y.count, y.first_at, y.last_at
         from (select name from groups where name is not null limit "
    ));
    sql.push_bind(GROUPS_MAX);
    sql.push(
        ") g join lateral (
             select (array_agg(c.route))[1] as route, (array_agg(c.destination))[1] as destination,
                    (array_agg(c.error))[1] as error, count(*) as count, min(c.at) as first_at, max(c.at) as last_at
             from (select d.route, d.destination, coalesce(d.last_error, '') as error, d.finished_at as at
                   from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id
                   where d.state = 'dead' and ",
    );
    sql.push(GROUP).push(" = g.name");
    criteria.push_rest(&mut sql);
    sql.push(" order by d.receipt_id desc, d.id desc limit ").push_bind(COUNTED_MAX);
    sql.push(") c having count(*) > 0) y on true order by y.count desc, y.last_at desc");
    Ok(sql.build_query_as().fetch_all(conn).await?)
}
