//! What running a receipt again needs: the receipt as it is stored, its row's lock, and deliveries that are planned later.
//! Calls the functions of `migrations/0006_operators.sql`; whoever commits rings the doorbell afterwards.

use sqlx::PgConnection;

use super::{Result, read, receipt_story::Payload};
use crate::domain::{DeliveryRef, DeliveryState, Flag, Headers, OrderingKey, PlannedDelivery, ReceiptId, SourceName};

/// A receipt, as far as planning looks at it.
#[derive(Debug)]
pub struct StoredReceipt {
    /// The way in.
    pub source: SourceName,
    /// What kind of event.
    pub event_type: String,
    /// What it is about.
    pub ordering_key: Option<String>,
    /// Whether it is held as a suspected replay.
    pub is_held: bool,
    /// What came in; `None` once its time is over.
    pub payload: Option<Payload>,
}

/// Reads a receipt with its payload; `None` when there is no such receipt. Takes no locks.
///
/// # Errors
/// Those of the database, and of a row that does not read.
pub async fn read_stored_receipt(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Option<StoredReceipt>> {
    let row = sqlx::query!(
        r#"select r.source, r.event_type, r.ordering_key, r.held_since is not null as "is_held!", p.headers as "headers?",
                  p.body as "body?"
           from oncehook.receipts r left join oncehook.payloads p on p.receipt_id = r.id where r.id = $1"#,
        receipt.uuid()
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let payload = row.headers.zip(row.body);
    Ok(Some(StoredReceipt {
        source: read(&row.source)?,
        event_type: row.event_type,
        ordering_key: row.ordering_key,
        is_held: row.is_held,
        payload: payload.map(|(headers, body)| Payload { headers: Headers::from_wire(&headers), body }),
    }))
}

/// Takes a receipt's row for the rest of the transaction, so that of two operators one plans and the other sees what was
/// planned. Gives whether it is held; `None` when there is no such receipt.
///
/// Locks the row against changes, and not against arrivals being noted. Take it before any lane.
///
/// # Errors
/// Those of the database.
pub async fn lock_receipt(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Option<bool>> {
    Ok(sqlx::query_scalar!(
        r#"select held_since is not null as "is_held!" from oncehook.receipts where id = $1 for no key update"#,
        receipt.uuid()
    )
    .fetch_optional(conn)
    .await?)
}

/// One step of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayStep {
    /// There is a delivery.
    Present {
        /// The delivery.
        delivery: DeliveryRef,
        /// Its route.
        route: String,
        /// Where it stands.
        state: DeliveryState,
    },
    /// There is none, and this one was planned.
    Absent {
        /// Its place among those planned.
        planned: usize,
    },
}

/// The deliveries of a receipt, compensations aside, and those of `planned` whose route has none: in the order in which their
/// lanes are to be locked, which is that of recording. `only`: those of this route. Takes no locks; call it after
/// [`lock_receipt`].
///
/// # Errors
/// Those of the database, and of a row that does not read.
pub async fn replay_steps(
    conn: &mut PgConnection,
    receipt: ReceiptId,
    only: Option<&str>,
    planned: &[PlannedDelivery],
) -> Result<Vec<ReplayStep>> {
    let rows = sqlx::query!(
        r#"select d.id as "id?", d.state as "state?", s.route as "route!", s.place
           from (select coalesce(present.route, p.route) as route, present.id, p.place, p.ordering_key
                 from (select * from oncehook.deliveries where receipt_id = $1 and purpose = 'deliver') present
                 full join unnest($3::text[], $4::text[]) with ordinality p(route, ordering_key, place)
                     on p.route = present.route) s
           left join oncehook.deliveries d on d.id = s.id
           where $2::text is null or s.route = $2
           order by s.route, coalesce(d.ordering_key, s.ordering_key), d.id"#,
        receipt.uuid(),
        only,
        &planned.iter().map(|one| one.route.as_str()).collect::<Vec<_>>() as &[&str],
        &planned.iter().map(|one| one.ordering_key.as_ref().map(OrderingKey::as_str)).collect::<Vec<_>>()
            as &[Option<&str>],
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| match (row.id, row.state, row.place) {
            (Some(id), Some(state), _) => {
                Ok(ReplayStep::Present { delivery: id.into(), route: row.route, state: read(&state)? })
            }
            (_, _, Some(place)) => {
                Ok(ReplayStep::Absent { planned: usize::try_from(place - 1).expect("ordinality counts from 1") })
            }
            _ => Err(sqlx::Error::Decode("a step is neither a delivery nor planned".into()).into()),
        })
        .collect()
}

/// Plans a delivery for a receipt whose row the caller has locked, and which has none of this route.
///
/// It goes to the tail of its lane (by event time: to its place among those that wait), as recording does. Gives its state.
/// Locks the lane's row. For several in one transaction keep the order of [`replay_steps`].
///
/// # Errors
/// Those of the database.
pub async fn plan_delivery(
    conn: &mut PgConnection,
    receipt: ReceiptId,
    planned: &PlannedDelivery,
) -> Result<DeliveryState> {
    let state = sqlx::query_scalar!(
        r#"select oncehook.plan_delivery($1, $2, $3, $4, $5, $6, $7, $8) as "state!""#,
        receipt.uuid(),
        planned.delivery.uuid(),
        planned.delivery.to_string(),
        planned.route.as_str(),
        planned.destination.as_str(),
        planned.ordering_key.as_ref().map(OrderingKey::as_str),
        planned.by_event,
        planned.job.to_string(),
    )
    .fetch_one(conn)
    .await?;
    read(&state)
}

/// Adds remarks to a receipt that it does not have yet. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn add_flags(conn: &mut PgConnection, receipt: ReceiptId, flags: &[Flag]) -> Result<()> {
    if flags.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "update oncehook.receipts set flags = flags || array(select f from unnest($2::text[]) f where f <> all (flags))
         where id = $1",
        receipt.uuid(),
        &flags.iter().map(Flag::as_str).collect::<Vec<_>>() as &[&str],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends the hold on a receipt. Locks its row.
///
/// # Errors
/// Those of the database.
pub async fn end_hold(conn: &mut PgConnection, receipt: ReceiptId) -> Result<()> {
    sqlx::query!(
        "update oncehook.receipts
         set held_since = null, flags = array(select f from unnest(flags) f where f not like 'held:%')
         where id = $1",
        receipt.uuid()
    )
    .execute(conn)
    .await?;
    Ok(())
}
