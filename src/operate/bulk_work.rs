//! Working bulks off, step by step. What a step changes and how far the bulk has come are one transaction: a crash between two
//! steps loses nothing and does nothing twice.

use std::time::Duration;

use serde_json::json;
use sqlx::PgConnection;
use tokio::time::timeout;

use super::{
    BulkAction, DeliveryQuery, Desk, Instruction, Operator, Result, Role, Via, audit::note,
    bulk_scope::criteria_of_bulk,
};
use crate::{
    domain::{DeliveryRef, Trigger},
    run::Stop,
    store::{
        StoreError,
        bulks::{BulkRow, in_lock_order, note_progress, take_bulk},
        call_off::{cancel_delivery, discard_delivery},
        delivery_search::search_deliveries,
        revive::revive_delivery,
        walk::Direction,
    },
};

/// Deliveries of one step: their lanes are locked until it commits.
const STEP: i64 = 500;

/// How often a process looks for bulks of others, or for one that a dead process left.
const IDLE: Duration = Duration::from_secs(1);

/// Works off bulks until `stop` says to finish. A step under way is ended before.
pub async fn keep_working_bulks(desk: Desk, stop: Stop) {
    let mut begun = desk.bell.listen_for_bulks();
    while !stop.is_finishing() {
        match desk.work_bulks().await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "a step of a bulk was not done, and is done again"),
        }
        tokio::select! {
            () = stop.finishing() => return,
            // The bell cannot go away: the desk has it.
            _ = timeout(IDLE, begun.changed()) => {}
        }
    }
}

impl Desk {
    /// Works off one step (at most 500 deliveries, one transaction) of the oldest bulk that is at work and that no other
    /// process is working on. False: there was nothing to do.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn work_bulks(&self) -> Result<bool> {
        let mut tx = self.pool.begin().await?;
        let Some(bulk) = take_bulk(&mut tx).await? else { return Ok(false) };
        step(&mut tx, &bulk).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(true)
    }
}

async fn step(conn: &mut PgConnection, bulk: &BulkRow) -> Result<()> {
    let action = BulkAction::read(bulk)?;
    let filter: DeliveryQuery = serde_json::from_value(bulk.filter.clone())
        .map_err(|error| StoreError::inconsistent("oncehook.bulks", "filter", bulk.id, error))?;
    let criteria = criteria_of_bulk(conn, action, &filter, &bulk.only_these).await?;
    let beyond = bulk.after_receipt.zip(bulk.after_delivery);
    // What has come to pass the filter since the count was not in the number that the operator saw.
    let left = bulk.total - bulk.met;
    let walked = search_deliveries(conn, &criteria, Direction::OldestFirst, beyond, left.clamp(0, STEP)).await?;
    let ids: Vec<_> = walked.found.iter().map(|place| place.1).collect();
    let mut changed = 0;
    // Lanes are locked in the order in which recording locks them, so that nothing deadlocks.
    for delivery in in_lock_order(conn, &ids).await? {
        changed += i64::from(apply(conn, action, delivery).await?);
    }
    let met = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let next = walked.next.filter(|_| met < left);
    note_progress(conn, bulk.id, met, changed, next).await?;
    if next.is_none() {
        let details = json!({ "met": bulk.met + met, "changed": bulk.changed + changed, "total": bulk.total });
        let by = operator_of(bulk);
        let instruction = Instruction { by: &by, reason: bulk.reason.as_deref() };
        note(conn, instruction, "bulk_end", &format!("bulk {}", bulk.id), &details).await?;
    }
    Ok(())
}

/// Whether it was done: a delivery may have moved on by itself.
async fn apply(conn: &mut PgConnection, action: BulkAction, delivery: DeliveryRef) -> Result<bool> {
    Ok(match action {
        BulkAction::Retry | BulkAction::Replay => {
            revive_delivery(conn, delivery, Trigger::Manual, action.done_from()).await?.is_some()
        }
        BulkAction::Discard => discard_delivery(conn, delivery).await?.is_some(),
        BulkAction::Cancel => cancel_delivery(conn, delivery).await?.is_some(),
    })
}

/// Who began it.
fn operator_of(bulk: &BulkRow) -> Operator {
    let via = [Via::Api, Via::Dashboard].into_iter().find(|via| via.as_str() == bulk.via);
    let role = if bulk.role == Role::Read.as_str() { Role::Read } else { Role::Operate };
    Operator { name: bulk.operator.clone(), role, via: via.unwrap_or(Via::CommandLine) }
}
