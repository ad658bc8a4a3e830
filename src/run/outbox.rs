//! The outbox's dispatcher: moves rows that transactions have written into receipts with deliveries, in one transaction
//! and in the order of ids. From there on they are events like any other. One node at a time does it.

use std::{collections::HashSet, sync::Arc};

use ulid::Ulid;

use super::Context;
use crate::{
    blueprint::Blueprint,
    crash_point::crash_point,
    domain::{DeliveryId, Flag, Headers, NewReceipt, ReceiptId, ReplayGuard, SourceName},
    provider::identify_outbox,
    store::{
        Result,
        outbox::{self, OutboxRow},
        record_new::record_new,
    },
};

/// Rows in one transaction.
const ROWS_MAX: i64 = 100;
/// Bytes of payloads in one transaction; a single larger payload goes alone.
const BYTES_MAX: i64 = 4 << 20;

/// Publishes until the process stops.
pub(super) async fn keep_dispatching(ctx: Context) {
    let mut bell = ctx.doorbell.listen_for_outbox();
    loop {
        let wait = match dispatch_outbox_once(&ctx).await {
            Ok(0) => ctx.config().run.poll,
            Ok(_) if ctx.stop.is_finishing() => return,
            Ok(_) => continue,
            Err(error) => {
                tracing::warn!(%error, "publishing from the outbox failed; trying again");
                ctx.config().run.rescue
            }
        };
        tokio::select! {
            () = ctx.stop.finishing() => return,
            () = tokio::time::sleep(wait) => {}
            rung = bell.changed() => if rung.is_err() { return },
        }
    }
}

/// One batch. Returns how many rows it moved: call it until that is 0. None also when another node has the turn.
///
/// # Errors
/// Those of the database. Nothing has been moved then, or, where a commit was not answered, all of the batch.
pub async fn dispatch_outbox_once(ctx: &Context) -> Result<usize> {
    let mut conn = ctx.pool.acquire().await?;
    let has_rows = outbox::has_rows(&mut conn).await?;
    drop(conn);
    if !has_rows {
        return Ok(0);
    }
    let mut tx = ctx.pool.begin().await?;
    if !outbox::try_take_turn(&mut tx).await? {
        return Ok(0);
    }
    let rows = outbox::take_rows(&mut tx, ROWS_MAX, BYTES_MAX).await?;
    let moved = rows.len();
    let mut receipts = receipts_of(ctx.live.load_full(), rows).await;
    let stored = record_new(&mut tx, &receipts.iter().collect::<Vec<_>>()).await?.stored;
    if stored.len() < moved {
        let again = under_other_ids(&mut receipts, &stored);
        record_new(&mut tx, &again).await?;
    }
    crash_point("before_publication")?;
    tx.commit().await?;
    crash_point("after_publication")?;
    ctx.doorbell.ring();
    Ok(moved)
}

/// What is recorded of the rows. Filters may look at megabytes, so this leaves the threads that keep leases alive.
async fn receipts_of(blueprint: Arc<Blueprint>, rows: Vec<OutboxRow>) -> Vec<NewReceipt> {
    let work = move || rows.into_iter().map(|row| new_receipt(&blueprint, row)).collect();
    tokio::task::spawn_blocking(work).await.expect("planning does not panic, and is not aborted")
}

fn new_receipt(blueprint: &Blueprint, row: OutboxRow) -> NewReceipt {
    let source = SourceName::outbox();
    let identity = identify_outbox(row.id, &row.event_type, row.ordering_key.as_deref(), &row.payload);
    let plan = blueprint.plan(&source, &identity, row.payload.len());
    NewReceipt {
        id: ReceiptId::at(row.created_at),
        source,
        flags: identity.flags.into_iter().chain(plan.flags()).collect(),
        delivery_id: identity.delivery_id,
        hook_scope: String::new(),
        hook_id: identity.hook_id,
        event_type: identity.event_type,
        ordering_key: identity.ordering_key,
        event_time: identity.event_time,
        version: identity.version,
        // Two rows are two events, and may well say the same.
        replay_guard: ReplayGuard::Off,
        may_revive: false,
        received_at: row.created_at,
        body_digest: identity.body_digest,
        normalised_digest: identity.normalised_digest,
        secret: None,
        signed_at: None,
        remote_address: None,
        headers: Headers::from_iter([("content-type", "application/json")]),
        body: row.payload,
        deliveries: plan.deliveries,
    }
}

/// The receipts that were not stored, since an event with their id was: rows begin at 1 again after the table was made
/// anew. A row is an event of its own all the same.
fn under_other_ids<'a>(receipts: &'a mut [NewReceipt], stored: &HashSet<ReceiptId>) -> Vec<&'a NewReceipt> {
    let mut again = Vec::new();
    for receipt in receipts.iter_mut().filter(|receipt| !stored.contains(&receipt.id)) {
        receipt.flags.push(Flag::new(&format!("outbox id seen before: {}", receipt.delivery_id)));
        let id = format!("{}-{}", receipt.delivery_id, Ulid::generate());
        receipt.delivery_id = DeliveryId::parse(id.as_bytes()).expect("it is short visible ASCII");
        again.push(&*receipt);
    }
    again
}
