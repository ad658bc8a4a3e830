//! Requests for events that have a receipt already: tells duplicates from conflicts, notes the arrival, keeps a conflict's
//! payload whole. Never touches the receipt itself.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::read_purpose;
use crate::domain::{ArrivalKind, Fingerprint, NewReceipt, ReceiptId, Standing};

/// What one request of a batch turned out to be.
#[derive(Debug, Clone)]
pub struct Classified {
    /// Its place in the batch, from 0.
    pub place: usize,
    /// The receipt that was there first.
    pub receipt: ReceiptId,
    /// When that one came in.
    pub first_received_at: DateTime<Utc>,
    /// Duplicate or conflict.
    pub kind: ArrivalKind,
    /// Whether that one is held as a suspected replay.
    pub is_held: bool,
    /// Whether it brought what the receipt holds. Through another hook a duplicate may bring something else.
    pub is_same_payload: bool,
}

/// Finds the receipts of `batch` and compares payloads. Requests whose event has no receipt are left out.
///
/// The same delivery id through another hook with another payload is a duplicate: GitHub gives one id to all hooks that see
/// an event, and adds fields to some of them. Takes no locks; call it in a statement of its own after
/// [`record_new`](super::record_new::record_new), so that its snapshot shows what a concurrent recorder has committed.
pub async fn classify_seen_before(
    conn: &mut PgConnection,
    batch: &[&NewReceipt],
) -> crate::store::Result<Vec<Classified>> {
    let rows = sqlx::query!(
        r#"
        select i.place as "place!", r.id, r.received_at, r.held_since is not null as "is_held!",
               r.normalised_digest = i.normalised_digest as "is_same!",
               (r.normalised_digest = i.normalised_digest
                or (r.hook_id is not null and i.hook_id is not null and r.hook_id <> i.hook_id)) as "is_duplicate!"
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[]) with ordinality
             as i (source, delivery_id, hook_scope, hook_id, normalised_digest, place)
        cross join lateral (select * from oncehook.receipts r
                            where r.source = i.source and r.delivery_id = i.delivery_id and r.hook_scope = i.hook_scope
                            limit 1) r
        order by i.place
        "#,
        &batch.iter().map(|new| new.source.as_str()).collect::<Vec<_>>() as &[&str],
        &batch.iter().map(|new| new.delivery_id.as_str()).collect::<Vec<_>>() as &[&str],
        &batch.iter().map(|new| new.hook_scope.as_str()).collect::<Vec<_>>() as &[&str],
        &batch.iter().map(|new| new.hook_id.as_deref()).collect::<Vec<_>>() as &[Option<&str>],
        &batch.iter().map(|new| &new.normalised_digest.as_bytes()[..]).collect::<Vec<_>>() as &[&[u8]],
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Classified {
            place: usize::try_from(row.place - 1).expect("ordinality counts from 1"),
            receipt: row.id.into(),
            first_received_at: row.received_at,
            is_held: row.is_held,
            kind: if row.is_duplicate { ArrivalKind::Duplicate } else { ArrivalKind::Conflict },
            is_same_payload: row.is_same,
        })
        .collect())
}

/// Notes the arrivals, at most `arrivals_kept` rows a receipt (further ones are counted on the last row), and keeps the
/// payloads of conflicts.
///
/// Locks: inserts only (conflicts sorted by their key), and the last arrival of a receipt that has reached the limit.
pub async fn record_seen_before(
    conn: &mut PgConnection,
    seen: &[(&Classified, &NewReceipt)],
    arrivals_kept: i32,
) -> crate::store::Result<()> {
    let is_conflict = |classified: &Classified| classified.kind == ArrivalKind::Conflict;
    sqlx::query_file!(
        "src/store/record_seen_before.sql",
        &seen.iter().map(|(classified, _)| classified.receipt.uuid()).collect::<Vec<_>>(),
        &seen.iter().map(|(classified, _)| is_conflict(classified)).collect::<Vec<_>>(),
        &seen.iter().map(|(_, new)| new.received_at).collect::<Vec<_>>(),
        &seen.iter().map(|(_, new)| new.hook_id.as_deref()).collect::<Vec<_>>() as &[Option<&str>],
        &seen.iter().map(|(_, new)| &new.body_digest.as_bytes()[..]).collect::<Vec<_>>() as &[&[u8]],
        &seen.iter().map(|(_, new)| &new.normalised_digest.as_bytes()[..]).collect::<Vec<_>>() as &[&[u8]],
        &seen.iter().map(|(_, new)| new.secret.as_ref().map(Fingerprint::as_str)).collect::<Vec<_>>()
            as &[Option<&str>],
        &seen.iter().map(|(_, new)| new.remote_address.as_deref()).collect::<Vec<_>>() as &[Option<&str>],
        &seen.iter().map(|(_, new)| new.event_type.as_str()).collect::<Vec<_>>() as &[&str],
        // A duplicate's payload is there already: only a conflict's travels again.
        &seen.iter().map(|(c, new)| is_conflict(c).then(|| new.headers.to_wire())).collect::<Vec<_>>()
            as &[Option<Vec<u8>>],
        &seen.iter().map(|(c, new)| is_conflict(c).then_some(&new.body[..])).collect::<Vec<_>>() as &[Option<&[u8]>],
        i64::from(arrivals_kept),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Where the deliveries of each receipt stand, by route. Takes no locks.
pub async fn standings(
    conn: &mut PgConnection,
    receipts: &[ReceiptId],
) -> crate::store::Result<HashMap<ReceiptId, Vec<Standing>>> {
    let ids: Vec<Uuid> = receipts.iter().map(|receipt| receipt.uuid()).collect();
    let rows = sqlx::query!(
        "select receipt_id, route, id, state, purpose from oncehook.deliveries where receipt_id = any($1)
         order by route, purpose desc",
        &ids
    )
    .fetch_all(conn)
    .await?;
    let mut standings: HashMap<ReceiptId, Vec<_>> = HashMap::new();
    for row in rows {
        // Invariant: names and states are checked before they are written, and by a CHECK.
        let (Ok(route), Ok(state)) = (row.route.parse(), row.state.parse()) else { continue };
        let (delivery, purpose) = (row.id.into(), read_purpose(&row.purpose));
        let standing = Standing { route, delivery, purpose, state, is_revived: false };
        standings.entry(row.receipt_id.into()).or_default().push(standing);
    }
    Ok(standings)
}
