//! From what an operator wrote into filters to what the store looks for.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{ReceiptQuery, Result, page::text_of};
use crate::{
    domain::{AttemptId, DeliveryRef, ReceiptId},
    store::{
        delivery_story::receipt_of_attempt,
        receipt_identities::{beginning_with, receipts_of_deliveries},
        receipt_search::ReceiptCriteria,
    },
};

/// Ids that begin alike are looked up by index up to so many; more of them are soon found by walking.
const ALIKE_MAX: i64 = 1_000;

/// How part of an id was understood on the first page; the next pages go on like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(super) enum PartIs {
    /// The beginning of an id, or a whole one: found by index.
    #[default]
    Beginning,
    /// Some part of the provider's id: found by walking.
    Within,
}

/// What the query asks of receipts. Whoever asks for a further page says how `q` was understood before.
pub(super) async fn criteria_of(
    conn: &mut PgConnection,
    query: &ReceiptQuery,
    before: Option<PartIs>,
) -> Result<(ReceiptCriteria, PartIs)> {
    let mut criteria = ReceiptCriteria {
        source: text_of("source", query.source.as_ref())?,
        event_type: text_of("type", query.event_type.as_ref())?,
        delivery_id: text_of("delivery_id", query.delivery_id.as_ref())?,
        ordering_key: text_of("ordering_key", query.ordering_key.as_ref())?,
        state: query.state,
        route: text_of("route", query.route.as_ref())?,
        destination: text_of("destination", query.destination.as_ref())?,
        since: query.since,
        until: query.until,
        flag: text_of("flag", query.flag.as_ref())?,
        held: query.held,
        unmatched: query.unmatched,
        ..ReceiptCriteria::default()
    };
    let part_is = match text_of("q", query.q.as_ref())? {
        Some(part) => look_for_part(conn, &mut criteria, part.trim(), before).await?,
        None => PartIs::Beginning,
    };
    Ok((criteria, part_is))
}

/// An id that begins with `part` is found wherever it is. Only if none does, or very many do, ids are looked at one by one.
pub(super) async fn look_for_part(
    conn: &mut PgConnection,
    criteria: &mut ReceiptCriteria,
    part: &str,
    before: Option<PartIs>,
) -> Result<PartIs> {
    if let Some((first, last)) = ReceiptId::beginning_with(part) {
        criteria.range = criteria.range.and(first.uuid(), last.uuid());
        return Ok(PartIs::Beginning);
    }
    if let Some((first, last)) = DeliveryRef::beginning_with(part) {
        criteria.only = Some(receipts_of_deliveries(conn, first.uuid(), last.uuid(), ALIKE_MAX).await?);
        return Ok(PartIs::Beginning);
    }
    if let Ok(attempt) = part.parse::<AttemptId>() {
        criteria.only = Some(receipt_of_attempt(conn, attempt).await?.map(ReceiptId::uuid).into_iter().collect());
        return Ok(PartIs::Beginning);
    }
    if before != Some(PartIs::Within)
        && let Some(alike) = alike(conn, part).await?
    {
        criteria.only = Some(alike);
        return Ok(PartIs::Beginning);
    }
    criteria.contains = Some(part.to_owned());
    Ok(PartIs::Within)
}

/// Receipts whose id of the provider's begins so; `None` if there are none, or too many to be looked up.
async fn alike(conn: &mut PgConnection, part: &str) -> Result<Option<Vec<Uuid>>> {
    let alike = beginning_with(conn, part, ALIKE_MAX + 1).await?;
    let is_few = (1..=ALIKE_MAX).contains(&i64::try_from(alike.len()).unwrap_or(i64::MAX));
    Ok(is_few.then_some(alike))
}
