//! Which index a page of receipts walks: that of the most telling filter that is set. The order of [`Path::of`] is that choice.

use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{
    Result,
    receipt_identities::{sources, types},
    receipt_search::ReceiptCriteria,
    walk::{Direction, IdRange, WALKED_MAX},
};
use crate::domain::DeliveryState;

/// What a page walks.
pub(super) enum Path<'c> {
    Only(&'c [Uuid]),
    DeliveryId(&'c str, Vec<String>),
    Held,
    State(DeliveryState),
    Key(&'c str),
    Route(&'c str),
    Destination(&'c str),
    Types(Vec<(String, String)>),
    Flagged,
    Source(&'c str),
    All,
}

impl<'c> Path<'c> {
    pub(super) async fn of(conn: &mut PgConnection, criteria: &'c ReceiptCriteria) -> Result<Self> {
        Ok(if let Some(only) = &criteria.only {
            Self::Only(only)
        } else if let Some(id) = &criteria.delivery_id {
            let sources = match &criteria.source {
                Some(source) => vec![source.clone()],
                None => sources(conn).await?,
            };
            Self::DeliveryId(id, sources)
        } else if criteria.held == Some(true) {
            Self::Held
        } else if let Some(state) = criteria.state.filter(|state| *state != DeliveryState::Succeeded) {
            Self::State(state)
        } else if let Some(key) = &criteria.ordering_key {
            Self::Key(key)
        } else if let Some(route) = &criteria.route {
            Self::Route(route)
        } else if let Some(destination) = &criteria.destination {
            Self::Destination(destination)
        } else if criteria.flag.is_some() {
            Self::Flagged
        } else if let Some(event_type) = &criteria.event_type {
            Self::Types(types(conn, criteria.source.as_deref(), event_type).await?)
        } else if let Some(source) = &criteria.source {
            Self::Source(source)
        } else {
            Self::All
        })
    }

    /// The ids that the walk passes, in order, at most [`WALKED_MAX`].
    pub(super) fn push_walk(&self, sql: &mut QueryBuilder<Postgres>, criteria: &ReceiptCriteria, before: Option<Uuid>) {
        self.push_walk_in(sql, criteria, before, Direction::NewestFirst);
    }

    pub(super) fn push_walk_in(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        criteria: &ReceiptCriteria,
        beyond: Option<Uuid>,
        direction: Direction,
    ) {
        sql.push("select w.id from (");
        match self {
            Self::DeliveryId(id, sources) => branches(sql, sources, |sql, source| {
                sql.push("select r.id from oncehook.receipts r where r.source = ").push_bind(source.clone());
                sql.push(" and r.delivery_id = ").push_bind((*id).to_owned());
                push_bounds(sql, "r.id", criteria, beyond, direction);
            }),
            Self::Types(types) => branches(sql, types, |sql, (source, event_type)| {
                sql.push("select r.id from oncehook.receipts r where r.source = ").push_bind(source.clone());
                sql.push(" and r.event_type = ").push_bind(event_type.clone());
                push_bounds(sql, "r.id", criteria, beyond, direction);
            }),
            Self::Key(key) => {
                sql.push("(select r.id from oncehook.receipts r where r.ordering_key = ").push_bind((*key).to_owned());
                push_bounds(sql, "r.id", criteria, beyond, direction);
                // A route may have a key of its own.
                sql.push(") union (select d.receipt_id from oncehook.deliveries d where d.ordering_key = ");
                sql.push_bind((*key).to_owned());
                push_bounds(sql, "d.receipt_id", criteria, beyond, direction);
                sql.push(")");
            }
            Self::State(_) | Self::Route(_) | Self::Destination(_) => {
                self.push_deliveries(sql);
                push_range(sql, "d.receipt_id", criteria, beyond, direction);
                sql.push(" group by d.receipt_id order by d.receipt_id").push(direction.order());
                sql.push(" limit ").push_bind(WALKED_MAX);
            }
            _ => {
                self.push_receipts(sql);
                push_bounds(sql, "r.id", criteria, beyond, direction);
            }
        }
        sql.push(") w order by w.id").push(direction.order()).push(" limit ").push_bind(WALKED_MAX);
    }

    fn push_receipts(&self, sql: &mut QueryBuilder<Postgres>) {
        sql.push("select r.id from oncehook.receipts r where ");
        match self {
            Self::Only(ids) => sql.push("r.id = any(").push_bind(ids.to_vec()).push(")"),
            Self::Held => sql.push("r.held_since is not null"),
            Self::Flagged => sql.push("r.flags <> '{}'"),
            Self::Source(source) => sql.push("r.source = ").push_bind((*source).to_owned()),
            _ => sql.push("true"),
        };
    }

    fn push_deliveries(&self, sql: &mut QueryBuilder<Postgres>) {
        sql.push("select d.receipt_id as id from oncehook.deliveries d where ");
        match self {
            // The index leaves the succeeded ones out, which the planner has to see.
            Self::State(state) => sql.push("d.state = '").push(state.as_str()).push("' and d.state <> 'succeeded'"),
            Self::Route(route) => sql.push("d.route = ").push_bind((*route).to_owned()),
            Self::Destination(destination) => sql.push("d.destination = ").push_bind((*destination).to_owned()),
            _ => sql.push("true"),
        };
    }
}

/// The same for each of `all`, merged in their order. For none of them a statement that gives nothing.
fn branches<T>(sql: &mut QueryBuilder<Postgres>, all: &[T], mut push: impl FnMut(&mut QueryBuilder<Postgres>, &T)) {
    if all.is_empty() {
        sql.push("select null::uuid as id where false");
    }
    for (place, one) in all.iter().enumerate() {
        sql.push(if place == 0 { "(" } else { " union all (" });
        push(sql, one);
        sql.push(")");
    }
}

/// Only what is in the range and beyond the last page; in order, and not more than one page walks.
fn push_bounds(
    sql: &mut QueryBuilder<Postgres>,
    column: &str,
    criteria: &ReceiptCriteria,
    beyond: Option<Uuid>,
    direction: Direction,
) {
    push_range(sql, column, criteria, beyond, direction);
    sql.push(" order by ").push(column).push(direction.order()).push(" limit ").push_bind(WALKED_MAX);
}

fn push_range(
    sql: &mut QueryBuilder<Postgres>,
    column: &str,
    criteria: &ReceiptCriteria,
    beyond: Option<Uuid>,
    direction: Direction,
) {
    if let Some(beyond) = beyond {
        sql.push(" and ").push(column).push(direction.beyond()).push_bind(beyond);
    }
    criteria.range.push(sql, column);
    IdRange::of_time(criteria.since, criteria.until).push(sql, column);
}
