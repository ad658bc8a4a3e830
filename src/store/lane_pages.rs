//! Lanes in pages, those that have been open the longest first. Reads only.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use super::{
    Result,
    lane_list::{COUNTED_MAX, LaneLine},
    read,
};
use crate::domain::DeliveryRef;

/// Which lanes; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct LaneCriteria {
    /// Of this route.
    pub route: Option<String>,
    /// Of this key.
    pub ordering_key: Option<String>,
    /// Blocked, or not.
    pub blocked: Option<bool>,
}

/// Where a lane stands in the list: since when it has been open, its route, its key.
pub type LanePlace = (DateTime<Utc>, String, String);

#[derive(sqlx::FromRow)]
struct Row {
    route: String,
    ordering_key: String,
    opened_at: DateTime<Utc>,
    blocked_by: Option<Uuid>,
    blocked_since: Option<DateTime<Utc>>,
    head: Option<Uuid>,
    head_state: Option<String>,
    unfinished: i64,
}

/// The lanes that pass, behind `after`. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn page_of_lanes(
    conn: &mut PgConnection,
    criteria: &LaneCriteria,
    after: Option<LanePlace>,
    limit: i64,
) -> Result<Vec<LaneLine>> {
    let mut sql = QueryBuilder::new(
        "select l.route, l.ordering_key, l.opened_at, l.blocked_by, l.blocked_since, h.id as head, h.state as head_state,
                (select count(*) from (select from oncehook.deliveries d
                                       where d.route = l.route and d.ordering_key = l.ordering_key
                                         and d.finished_at is null limit ",
    );
    sql.push_bind(COUNTED_MAX);
    sql.push(") counted) as unfinished from (select * from oncehook.lanes l where true");
    if let Some(route) = &criteria.route {
        sql.push(" and l.route = ").push_bind(route.clone());
    }
    if let Some(key) = &criteria.ordering_key {
        sql.push(" and l.ordering_key = ").push_bind(key.clone());
    }
    if let Some(blocked) = criteria.blocked {
        sql.push(if blocked { " and l.blocked_by is not null" } else { " and l.blocked_by is null" });
    }
    if let Some((opened_at, route, key)) = after {
        sql.push(" and (l.opened_at, l.route, l.ordering_key) > (").push_bind(opened_at);
        sql.push(", ").push_bind(route).push(", ").push_bind(key).push(")");
    }
    sql.push(" order by l.opened_at, l.route, l.ordering_key limit ").push_bind(limit);
    sql.push(
        ") l left join lateral (select d.id, d.state from oncehook.deliveries d
                                where d.route = l.route and d.ordering_key = l.ordering_key and d.finished_at is null
                                order by d.place, d.seq limit 1) h on true
         order by l.opened_at, l.route, l.ordering_key",
    );
    let rows: Vec<Row> = sql.build_query_as().fetch_all(conn).await?;
    rows.into_iter().map(Row::into_line).collect()
}

impl Row {
    fn into_line(self) -> Result<LaneLine> {
        Ok(LaneLine {
            route: self.route,
            ordering_key: self.ordering_key,
            opened_at: self.opened_at,
            unfinished: self.unfinished,
            head: self.head.map(DeliveryRef::from),
            head_state: self.head_state.as_deref().map(read).transpose()?,
            blocked_by: self.blocked_by.map(DeliveryRef::from),
            blocked_since: self.blocked_since,
        })
    }
}
