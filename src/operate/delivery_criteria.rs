//! From what an operator wrote into filters of deliveries to what the store looks for.

use sqlx::PgConnection;

use super::{
    DeliveryQuery, Result,
    page::text_of,
    receipt_criteria::{PartIs, look_for_part},
};
use crate::{
    domain::DeliveryRef,
    store::{delivery_search::DeliveryCriteria, receipt_search::ReceiptCriteria},
};

/// What the query asks of deliveries. Whoever asks for a further page says how `q` was understood before.
pub(super) async fn criteria_of(
    conn: &mut PgConnection,
    query: &DeliveryQuery,
    before: Option<PartIs>,
) -> Result<(DeliveryCriteria, PartIs)> {
    let mut criteria = DeliveryCriteria {
        states: query.state.into_iter().collect(),
        route: text_of("route", query.route.as_ref())?,
        destination: text_of("destination", query.destination.as_ref())?,
        ordering_key: text_of("ordering_key", query.ordering_key.as_ref())?,
        error: text_of("error", query.error.as_ref())?,
        group: text_of("group", query.group.as_ref())?,
        receipt: ReceiptCriteria {
            source: text_of("source", query.source.as_ref())?,
            event_type: text_of("type", query.event_type.as_ref())?,
            since: query.since,
            until: query.until,
            ..ReceiptCriteria::default()
        },
        ..DeliveryCriteria::default()
    };
    let Some(part) = text_of("q", query.q.as_ref())? else { return Ok((criteria, PartIs::Beginning)) };
    let part = part.trim();
    if let Some((first, last)) = DeliveryRef::beginning_with(part) {
        criteria.range = criteria.range.and(first.uuid(), last.uuid());
        return Ok((criteria, PartIs::Beginning));
    }
    let part_is = look_for_part(conn, &mut criteria.receipt, part, before).await?;
    Ok((criteria, part_is))
}
