//! Revival: a duplicate of an event whose delivery is dead asks for it again, since somebody pressed "Redeliver" for a
//! reason. What succeeded, runs or waits is left alone. Knows no SQL.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::{
    domain::{DeliveryRef, DeliveryState, NewReceipt, Trigger},
    store::{
        Result,
        record_seen_before::Classified,
        revive::{DeadDelivery, dead_deliveries, revive_delivery},
    },
};

/// What one batch has seen dead, over all its tries.
///
/// Invariant: a batch revives a delivery once. When the outcome of a commit is unknown and the batch is tried again, the
/// delivery may have run and died meanwhile: then it has had more attempts than it was first seen with, and stays dead.
#[derive(Debug, Default)]
pub(super) struct Revival {
    first_seen: HashMap<DeliveryRef, i32>,
}

impl Revival {
    /// The dead deliveries that these requests ask for, in the order in which their lanes are to be locked.
    pub(super) async fn candidates(
        &mut self,
        conn: &mut PgConnection,
        seen: &[(&Classified, &NewReceipt)],
    ) -> Result<Vec<DeliveryRef>> {
        let mut receipts: Vec<_> = seen
            .iter()
            .filter(|(classified, new)| asks_for_revival(classified, new))
            .map(|(classified, _)| classified.receipt)
            .collect();
        receipts.sort_unstable();
        receipts.dedup();
        if receipts.is_empty() {
            return Ok(Vec::new());
        }
        let dead = dead_deliveries(conn, &receipts).await?;
        let is_as_first_seen =
            |dead: &DeadDelivery| *self.first_seen.entry(dead.delivery).or_insert(dead.attempts) == dead.attempts;
        Ok(dead.into_iter().filter(is_as_first_seen).map(|dead| dead.delivery).collect())
    }
}

/// Whether a request asks for the dead deliveries of its receipt: it brings the same payload, and its provider sends again
/// only when somebody wants it. Never a conflict.
pub(super) fn asks_for_revival(classified: &Classified, new: &NewReceipt) -> bool {
    new.may_revive && classified.is_same_payload
}

/// Revives them, and gives the new states. One that somebody else has revived meanwhile is left out.
pub(super) async fn revive(
    conn: &mut PgConnection,
    dead: &[DeliveryRef],
) -> Result<HashMap<DeliveryRef, DeliveryState>> {
    let mut revived = HashMap::new();
    for &delivery in dead {
        let state = revive_delivery(conn, delivery, Trigger::Redelivery, &[DeliveryState::Dead]).await?;
        revived.extend(state.map(|state| (delivery, state)));
    }
    Ok(revived)
}
