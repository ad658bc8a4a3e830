//! Lanes for people: which there are, what stands at their head, and what blocks them. Reads only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{Result, read};
use crate::domain::{DeliveryRef, DeliveryState};

/// Deliveries of one lane are counted up to here: a longer lane is long, whatever its number.
pub const COUNTED_MAX: i64 = 10_000;

/// Which lanes to list.
#[derive(Debug, Clone, Default)]
pub struct LaneFilter {
    /// Only lanes of this route.
    pub route: Option<String>,
    /// Only lanes that a dead delivery blocks.
    pub is_blocked: bool,
    /// At most so many.
    pub limit: u32,
}

/// One lane.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct LaneLine {
    /// The route.
    pub route: String,
    /// What its deliveries have in common.
    pub ordering_key: String,
    /// Since when it has had unfinished deliveries.
    pub opened_at: DateTime<Utc>,
    /// Its unfinished deliveries, up to [`COUNTED_MAX`].
    pub unfinished: i64,
    /// The delivery whose turn it is.
    pub head: Option<DeliveryRef>,
    /// Where that stands.
    pub head_state: Option<DeliveryState>,
    /// The dead delivery that it waits for.
    pub blocked_by: Option<DeliveryRef>,
    /// Since when.
    pub blocked_since: Option<DateTime<Utc>>,
}

/// Lists lanes, those that have been open the longest first. Takes no locks.
///
/// # Errors
/// When the database cannot be asked, or holds a state that this program does not know.
pub async fn list_lanes(conn: &mut PgConnection, filter: &LaneFilter) -> Result<Vec<LaneLine>> {
    let rows = sqlx::query!(
        r#"select l.route, l.ordering_key, l.opened_at, l.blocked_by, l.blocked_since, h.id as "head?", h.state as "state?",
                  (select count(*) from (select from oncehook.deliveries d
                                         where d.route = l.route and d.ordering_key = l.ordering_key
                                           and d.finished_at is null limit $4) counted) as "unfinished!"
           from (select * from oncehook.lanes l
                 where ($1::text is null or l.route = $1) and (not $2 or l.blocked_by is not null)
                 order by l.opened_at, l.route, l.ordering_key limit $3) l
           left join lateral (select d.id, d.state from oncehook.deliveries d
                              where d.route = l.route and d.ordering_key = l.ordering_key and d.finished_at is null
                              order by d.place, d.seq limit 1) h on true
           order by l.opened_at, l.route, l.ordering_key"#,
        filter.route,
        filter.is_blocked,
        i64::from(filter.limit),
        COUNTED_MAX,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(LaneLine {
                route: row.route,
                ordering_key: row.ordering_key,
                opened_at: row.opened_at,
                unfinished: row.unfinished,
                head: row.head.map(DeliveryRef::from),
                head_state: row.state.as_deref().map(read).transpose()?,
                blocked_by: row.blocked_by.map(DeliveryRef::from),
                blocked_since: row.blocked_since,
            })
        })
        .collect()
}
