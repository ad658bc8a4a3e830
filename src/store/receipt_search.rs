//! Finding receipts by filters, newest first. Takes filters, gives ids; `receipt_list` gives the lines for them.
//!
//! A page walks one index, the one of the most telling filter that is set, and looks at the other filters row by row: at most
//! [`WALKED_MAX`] of them. The order of `receipt_walk::Path::of` is that choice.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{
    Result,
    receipt_walk::Path,
    walk::{IdRange, WALKED_MAX, Walked, push_type},
};
use crate::domain::DeliveryState;

/// Which receipts; what is `None` or false does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptCriteria {
    /// Came in here.
    pub source: Option<String>,
    /// This event type, or one below it.
    pub event_type: Option<String>,
    /// Exactly this id of the provider's.
    pub delivery_id: Option<String>,
    /// Has a delivery in a lane of this key, or is about this.
    pub ordering_key: Option<String>,
    /// Has a delivery in this state, of this route and to this destination.
    pub state: Option<DeliveryState>,
    /// See `state`.
    pub route: Option<String>,
    /// See `state`.
    pub destination: Option<String>,
    /// Received at or after.
    pub since: Option<DateTime<Utc>>,
    /// Received before.
    pub until: Option<DateTime<Utc>>,
    /// Has a remark that begins so.
    pub flag: Option<String>,
    /// Held, or not.
    pub held: Option<bool>,
    /// Matched no route and is not held, or not so.
    pub unmatched: Option<bool>,
    /// One of these.
    pub only: Option<Vec<Uuid>>,
    /// Within these.
    pub range: IdRange,
    /// The provider's id contains this.
    pub contains: Option<String>,
}

/// One page of the receipts that pass, newest first. Takes no locks. In a transaction that sees one moment, or `next` may lie
/// before what was found.
///
/// # Errors
/// When the database cannot be asked.
pub async fn search_receipts(
    conn: &mut PgConnection,
    criteria: &ReceiptCriteria,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Walked<Uuid>> {
    let path = Path::of(conn, criteria).await?;
    let mut sql = QueryBuilder::new("");
    push_statement(&mut sql, &path, criteria, before, limit + 1);
    let mut found: Vec<Uuid> = sql.build_query_scalar().fetch_all(&mut *conn).await?;
    if usize::try_from(limit).is_ok_and(|limit| found.len() > limit) {
        found.pop();
        return Ok(Walked { next: found.last().copied(), found });
    }
    let next = end_of_walk(conn, &path, criteria, before).await?;
    Ok(Walked { found, next })
}

/// The statement of a page, as [`search_receipts`] runs it: for tests that look at its plan.
///
/// # Errors
/// When the database cannot be asked.
pub async fn explained(conn: &mut PgConnection, criteria: &ReceiptCriteria, limit: i64) -> Result<String> {
    let path = Path::of(conn, criteria).await?;
    let mut explain = QueryBuilder::new("explain (costs off) ");
    push_statement(&mut explain, &path, criteria, None, limit);
    let lines: Vec<String> = explain.build_query_scalar().fetch_all(conn).await?;
    Ok(lines.join("\n"))
}

fn push_statement(
    sql: &mut QueryBuilder<Postgres>,
    path: &Path<'_>,
    criteria: &ReceiptCriteria,
    before: Option<Uuid>,
    limit: i64,
) {
    sql.push("select s.id from (");
    path.push_walk(sql, criteria, before);
    // "offset 0" keeps the planner to one look for each row walked, so that it stops at the limit.
    sql.push(") s join lateral (select * from oncehook.receipts r where r.id = s.id offset 0) r on true where true");
    criteria.push_rest(sql);
    sql.push(" order by s.id desc limit ").push_bind(limit);
}

/// Where the walk stopped that found too little; `None`: it reached the end.
async fn end_of_walk(
    conn: &mut PgConnection,
    path: &Path<'_>,
    criteria: &ReceiptCriteria,
    before: Option<Uuid>,
) -> Result<Option<Uuid>> {
    let mut sql = QueryBuilder::new("select s.id from (");
    path.push_walk(&mut sql, criteria, before);
    sql.push(") s order by s.id desc offset ").push_bind(WALKED_MAX - 1).push(" limit 1");
    Ok(sql.build_query_scalar().fetch_optional(conn).await?)
}

impl ReceiptCriteria {
    /// What is looked at row by row, of a receipt `r`.
    pub(super) fn push_rest(&self, sql: &mut QueryBuilder<Postgres>) {
        if let Some(source) = &self.source {
            sql.push(" and r.source = ").push_bind(source.clone());
        }
        if let Some(event_type) = &self.event_type {
            push_type(sql, "r.event_type", event_type);
        }
        if let Some(id) = &self.delivery_id {
            sql.push(" and r.delivery_id = ").push_bind(id.clone());
        }
        if let Some(key) = &self.ordering_key {
            sql.push(" and (r.ordering_key = ").push_bind(key.clone());
            sql.push(" or exists (select from oncehook.deliveries d where d.receipt_id = r.id and d.ordering_key = ");
            sql.push_bind(key.clone()).push("))");
        }
        if let Some(since) = self.since {
            sql.push(" and r.received_at >= ").push_bind(since);
        }
        if let Some(until) = self.until {
            sql.push(" and r.received_at < ").push_bind(until);
        }
        if let Some(flag) = &self.flag {
            sql.push(" and exists (select from unnest(r.flags) f(f) where starts_with(f.f, ")
                .push_bind(flag.clone())
                .push("))");
        }
        if let Some(held) = self.held {
            sql.push(if held { " and r.held_since is not null" } else { " and r.held_since is null" });
        }
        if let Some(unmatched) = self.unmatched {
            // A subquery with a value is asked row by row. Of "exists" the planner may make a join that reads the whole table.
            sql.push(if unmatched { " and r.held_since is null and not" } else { " and" });
            sql.push(" coalesce((select true from oncehook.deliveries d where d.receipt_id = r.id limit 1), false)");
        }
        if let Some(part) = &self.contains {
            sql.push(" and position(").push_bind(part.clone()).push(" in r.delivery_id) > 0");
        }
        self.push_rest_of_deliveries(sql);
    }

    fn push_rest_of_deliveries(&self, sql: &mut QueryBuilder<Postgres>) {
        if self.state.is_none() && self.route.is_none() && self.destination.is_none() {
            return;
        }
        sql.push(" and (select true from oncehook.deliveries d where d.receipt_id = r.id");
        if let Some(state) = self.state {
            sql.push(" and d.state = ").push_bind(state.as_str());
        }
        if let Some(route) = &self.route {
            sql.push(" and d.route = ").push_bind(route.clone());
        }
        if let Some(destination) = &self.destination {
            sql.push(" and d.destination = ").push_bind(destination.clone());
        }
        sql.push(" limit 1)");
    }
}
