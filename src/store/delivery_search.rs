//! Finding deliveries by filters, by their receipts newest or oldest first. Takes filters, gives ids; `delivery_list` gives the
//! lines for them.
//!
//! As in `receipt_search`, a page walks the index of the most telling filter, and looks at the others row by row.

use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{
    Result,
    receipt_search::ReceiptCriteria,
    receipt_walk::Path as ReceiptPath,
    walk::{Direction, IdRange, WALKED_MAX, Walked},
};
use crate::domain::DeliveryState;

/// Where a delivery stands in lists: its receipt, then its own id.
pub type Place = (Uuid, Uuid);

/// Which deliveries; what is `None` or empty does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryCriteria {
    /// Stands in one of these states; empty: in any.
    pub states: Vec<DeliveryState>,
    /// Comes from this rule.
    pub route: Option<String>,
    /// Goes there.
    pub destination: Option<String>,
    /// Is in a lane of this key.
    pub ordering_key: Option<String>,
    /// Its last error contains this text, whatever the letters' size.
    pub error: Option<String>,
    /// Belongs to this group of dead letters.
    pub group: Option<String>,
    /// One of these.
    pub only: Option<Vec<Uuid>>,
    /// Its own id is within these.
    pub range: IdRange,
    /// What holds for its receipt: source, event type, time, ids. Its other fields are not looked at.
    pub receipt: ReceiptCriteria,
}

/// What a page walks.
enum Path<'c> {
    Only(&'c [Uuid]),
    OwnRange,
    OfReceipts(&'c [Uuid]),
    Group(&'c str),
    State(DeliveryState),
    Key(&'c str),
    Route(&'c str),
    Destination(&'c str),
    Receipts(ReceiptPath<'c>),
    All,
}

/// One page of the deliveries that pass. Takes no locks. In a transaction that sees one moment, or `next` may lie before what was
/// found.
///
/// # Errors
/// When the database cannot be asked.
pub async fn search_deliveries(
    conn: &mut PgConnection,
    criteria: &DeliveryCriteria,
    direction: Direction,
    beyond: Option<Place>,
    limit: i64,
) -> Result<Walked<Place>> {
    let path = Path::of(conn, criteria).await?;
    let mut sql = QueryBuilder::new("");
    push_statement(&mut sql, &path, criteria, direction, beyond);
    sql.push(" limit ").push_bind(limit + 1);
    let mut found: Vec<Place> = sql.build_query_as().fetch_all(&mut *conn).await?;
    if usize::try_from(limit).is_ok_and(|limit| found.len() > limit) {
        found.pop();
        return Ok(Walked { next: found.last().copied(), found });
    }
    let next = end_of_walk(conn, &path, criteria, direction, beyond).await?;
    Ok(Walked { found, next })
}

/// How many deliveries pass, counted up to `counted_max`. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn count_deliveries(conn: &mut PgConnection, criteria: &DeliveryCriteria, counted_max: i64) -> Result<i64> {
    let mut sql = QueryBuilder::new(
        "select count(*) from (select from oncehook.deliveries d join oncehook.receipts r on r.id = d.receipt_id where true",
    );
    criteria.push_rest(&mut sql);
    if let Some(only) = &criteria.only {
        sql.push(" and d.id = any(").push_bind(only.clone()).push(")");
    }
    criteria.push_receipt_range(&mut sql);
    sql.push(" limit ").push_bind(counted_max).push(") counted");
    Ok(sql.build_query_scalar().fetch_one(conn).await?)
}

/// The plan of a page, for tests.
///
/// # Errors
/// When the database cannot be asked.
pub async fn explain_search(conn: &mut PgConnection, criteria: &DeliveryCriteria, limit: i64) -> Result<String> {
    let path = Path::of(conn, criteria).await?;
    let mut sql = QueryBuilder::new("explain (costs off) ");
    push_statement(&mut sql, &path, criteria, Direction::NewestFirst, None);
    sql.push(" limit ").push_bind(limit);
    let lines: Vec<String> = sql.build_query_scalar().fetch_all(conn).await?;
    Ok(lines.join("\n"))
}

fn push_statement(
    sql: &mut QueryBuilder<Postgres>,
    path: &Path<'_>,
    criteria: &DeliveryCriteria,
    direction: Direction,
    beyond: Option<Place>,
) {
    sql.push("select s.receipt_id, s.id from (");
    path.push_walk(sql, criteria, direction, beyond);
    // "offset 0" keeps the planner to one look for each row walked, so that it stops at the limit.
    sql.push(") s join lateral (select * from oncehook.deliveries d where d.id = s.id offset 0) d on true");
    sql.push(
        " join lateral (select * from oncehook.receipts r where r.id = s.receipt_id offset 0) r on true where true",
    );
    criteria.push_rest(sql);
    push_order(sql, "s", direction);
}

fn push_order(sql: &mut QueryBuilder<Postgres>, row: &str, direction: Direction) {
    let order = direction.order();
    sql.push(format_args!(" order by {row}.receipt_id{order}, {row}.id{order}"));
}

/// Where the walk stopped that found too little; `None`: it reached the end.
async fn end_of_walk(
    conn: &mut PgConnection,
    path: &Path<'_>,
    criteria: &DeliveryCriteria,
    direction: Direction,
    beyond: Option<Place>,
) -> Result<Option<Place>> {
    let mut sql = QueryBuilder::new("");
    if let Path::Receipts(receipts) = path {
        // It was receipts that were counted: all deliveries of the last one are behind the walk.
        let outermost = if direction == Direction::NewestFirst { Uuid::nil() } else { Uuid::max() };
        sql.push("select s.id, ").push_bind(outermost).push(" from (");
        let edge = beyond.map(|place| just_before(place.0, direction));
        receipts.push_walk_in(&mut sql, &criteria.receipt, edge, direction);
        sql.push(") s order by s.id").push(direction.order());
    } else {
        sql.push("select s.receipt_id, s.id from (");
        path.push_walk(&mut sql, criteria, direction, beyond);
        sql.push(") s");
        push_order(&mut sql, "s", direction);
    }
    sql.push(" offset ").push_bind(WALKED_MAX - 1).push(" limit 1");
    Ok(sql.build_query_as().fetch_optional(conn).await?)
}

impl<'c> Path<'c> {
    async fn of(conn: &mut PgConnection, criteria: &'c DeliveryCriteria) -> Result<Self> {
        Ok(if let Some(only) = &criteria.only {
            Self::Only(only)
        } else if criteria.range != IdRange::default() {
            Self::OwnRange
        } else if let Some(receipts) = &criteria.receipt.only {
            Self::OfReceipts(receipts)
        } else if let Some(group) = &criteria.group {
            Self::Group(group)
        } else if let [state] = criteria.states[..]
            && state != DeliveryState::Succeeded
        {
            Self::State(state)
        } else if let Some(key) = &criteria.ordering_key {
            Self::Key(key)
        } else if let Some(route) = &criteria.route {
            Self::Route(route)
        } else if let Some(destination) = &criteria.destination {
            Self::Destination(destination)
        } else if criteria.receipt.source.is_some() || criteria.receipt.event_type.is_some() {
            Self::Receipts(ReceiptPath::of(conn, &criteria.receipt).await?)
        } else {
            Self::All
        })
    }

    fn push_walk(
        &self,
        sql: &mut QueryBuilder<Postgres>,
        criteria: &DeliveryCriteria,
        direction: Direction,
        beyond: Option<Place>,
    ) {
        if let Self::Receipts(receipts) = self {
            // The receipt at which the last page ended is looked at once more: it may have deliveries left.
            let edge = beyond.map(|place| just_before(place.0, direction));
            sql.push("select d.receipt_id, d.id from (");
            receipts.push_walk_in(sql, &criteria.receipt, edge, direction);
            sql.push(
                ") w join lateral (select d.receipt_id, d.id from oncehook.deliveries d where d.receipt_id = w.id",
            );
            sql.push(" offset 0) d on true where true");
            push_beyond(sql, direction, beyond);
            let order = direction.order();
            sql.push(format_args!(" order by w.id{order}, d.id{order}"));
            return;
        }
        sql.push("select d.receipt_id, d.id from oncehook.deliveries d where ");
        self.push_condition(sql, criteria);
        push_beyond(sql, direction, beyond);
        criteria.push_receipt_range(sql);
        push_order(sql, "d", direction);
        sql.push(" limit ").push_bind(WALKED_MAX);
    }

    fn push_condition(&self, sql: &mut QueryBuilder<Postgres>, criteria: &DeliveryCriteria) {
        match self {
            Self::Only(ids) => sql.push("d.id = any(").push_bind(ids.to_vec()).push(")"),
            Self::OfReceipts(ids) => sql.push("d.receipt_id = any(").push_bind(ids.to_vec()).push(")"),
            Self::OwnRange => {
                sql.push("true");
                criteria.range.push(sql, "d.id");
                sql
            }
            Self::Group(group) => sql
                .push("d.state = 'dead' and oncehook.dead_letter_group(d.route, d.destination, d.last_error) = ")
                .push_bind((*group).to_owned()),
            // The index leaves the succeeded ones out, which the planner has to see.
            Self::State(state) => sql.push(format_args!("d.state = '{state}' and d.state <> 'succeeded'")),
            Self::Key(key) => sql.push("d.ordering_key = ").push_bind((*key).to_owned()),
            Self::Route(route) => sql.push("d.route = ").push_bind((*route).to_owned()),
            Self::Destination(destination) => sql.push("d.destination = ").push_bind((*destination).to_owned()),
            Self::Receipts(_) | Self::All => sql.push("true"),
        };
    }
}

/// So that "beyond" it begins with `receipt` itself.
fn just_before(receipt: Uuid, direction: Direction) -> Uuid {
    let number = receipt.as_u128();
    Uuid::from_u128(match direction {
        Direction::NewestFirst => number.saturating_add(1),
        Direction::OldestFirst => number.saturating_sub(1),
    })
}

fn push_beyond(sql: &mut QueryBuilder<Postgres>, direction: Direction, beyond: Option<Place>) {
    if let Some((receipt, delivery)) = beyond {
        sql.push(" and (d.receipt_id, d.id)").push(direction.beyond());
        sql.push("(").push_bind(receipt).push(", ").push_bind(delivery).push(")");
    }
}

impl DeliveryCriteria {
    fn push_receipt_range(&self, sql: &mut QueryBuilder<Postgres>) {
        self.receipt.range.push(sql, "d.receipt_id");
        IdRange::of_time(self.receipt.since, self.receipt.until).push(sql, "d.receipt_id");
    }

    /// What is looked at row by row, of a delivery `d` and its receipt `r`.
    pub(super) fn push_rest(&self, sql: &mut QueryBuilder<Postgres>) {
        if !self.states.is_empty() {
            let words: Vec<&str> = self.states.iter().map(|state| state.as_str()).collect();
            sql.push(" and d.state = any(").push_bind(words).push(")");
        }
        if let Some(route) = &self.route {
            sql.push(" and d.route = ").push_bind(route.clone());
        }
        if let Some(destination) = &self.destination {
            sql.push(" and d.destination = ").push_bind(destination.clone());
        }
        if let Some(key) = &self.ordering_key {
            sql.push(" and d.ordering_key = ").push_bind(key.clone());
        }
        if let Some(error) = &self.error {
            sql.push(" and position(lower(").push_bind(error.clone()).push(") in lower(d.last_error)) > 0");
        }
        if let Some(group) = &self.group {
            sql.push(" and d.state = 'dead' and oncehook.dead_letter_group(d.route, d.destination, d.last_error) = ");
            sql.push_bind(group.clone());
        }
        if let Some(receipts) = &self.receipt.only {
            sql.push(" and d.receipt_id = any(").push_bind(receipts.clone()).push(")");
        }
        self.range.push(sql, "d.id");
        self.receipt.push_rest(sql);
    }
}
