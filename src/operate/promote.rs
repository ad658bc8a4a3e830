//! Making a receipt of a conflict.

use bytes::Bytes;
use serde_json::json;
use sqlx::PgConnection;

use super::{
    Desk, Instruction, OperateError, Replayed, ReplayedDelivery, Result,
    audit::note,
    planning::{StoredEvent, details_of, plan_again},
};
use crate::{
    domain::{Fingerprint, Flag, NewReceipt, Purpose, ReceiptId, ReplayGuard},
    provider::Identity,
    route::Plan,
    store::{
        promotions::{StoredConflict, lock_conflict, note_promotion, read_stored_conflict},
        record_new::record_new,
        record_seen_before::standings,
    },
};

impl Desk {
    /// Makes a receipt of its own of a conflict's payload, flagged as promoted, with the deliveries that the routes of today
    /// ask for. The first receipt stays as it is.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; [`OperateError::Refused`] when it was promoted already, or its source is gone; those of the
    /// database.
    pub async fn promote(&self, conflict: i64, instruction: Instruction<'_>) -> Result<Replayed> {
        let blueprint = self.live.load_full();
        let stored = read_stored_conflict(&mut *self.pool.acquire().await?, conflict).await?;
        let stored = stored.ok_or_else(|| not_found(conflict))?;
        if let Some(receipt) = stored.promoted_to {
            return Err(promoted_before(conflict, receipt));
        }
        // Only the outbox keeps these two beside the payload, and has no conflicts.
        let (event_type, ordering_key) = (String::new(), None);
        let event =
            StoredEvent { source: stored.source.clone(), event_type, ordering_key, payload: stored.payload.clone() };
        let Some((identity, plan)) = plan_again(blueprint, event, None).await? else {
            return Err(OperateError::Refused {
                problem: format!("the configuration has no source {:?} any more", stored.source.as_str()),
                instead: "add it again, at least until this is promoted".to_owned(),
            });
        };
        let new = new_receipt(conflict, stored, identity, plan)?;

        let mut tx = self.pool.begin().await?;
        if let Some(receipt) = lock_conflict(&mut tx, conflict).await?.ok_or_else(|| not_found(conflict))? {
            return Err(promoted_before(conflict, receipt));
        }
        let promoted = record(&mut tx, &new).await?;
        note_promotion(&mut tx, conflict, new.id).await?;
        let details = json!({ "receipt": new.id, "deliveries": details_of(&promoted) });
        note(&mut tx, instruction, "promote", &format!("conflict {conflict}"), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(promoted)
    }
}

/// What is recorded. Its scope makes it an event of its own: neither the first receipt nor another conflict is in its way.
fn new_receipt(conflict: i64, stored: StoredConflict, identity: Identity, plan: Plan) -> Result<NewReceipt> {
    let StoredConflict { receipt: first, source, arrived_at, secret_fingerprint, payload, .. } = stored;
    if identity.delivery_id.as_str() != stored.delivery_id {
        return Err(OperateError::Refused {
            problem: format!(
                "its payload reads as the event {}, and not as {}",
                identity.delivery_id, stored.delivery_id
            ),
            instead: format!("see whether [sources.{source}] has another provider than when it came in"),
        });
    }
    let promoted = Flag::new(&format!("promoted: conflict {conflict} of {first}"));
    Ok(NewReceipt {
        id: ReceiptId::at(arrived_at),
        source,
        flags: std::iter::once(promoted).chain(identity.flags).chain(plan.flags()).collect(),
        delivery_id: identity.delivery_id,
        hook_scope: format!("conflict:{conflict}"),
        hook_id: identity.hook_id,
        event_type: identity.event_type,
        ordering_key: identity.ordering_key,
        event_time: identity.event_time,
        version: identity.version,
        // An operator has looked at it.
        replay_guard: ReplayGuard::Off,
        may_revive: false,
        received_at: arrived_at,
        body_digest: identity.body_digest,
        normalised_digest: identity.normalised_digest,
        secret: secret_fingerprint.map(Fingerprint::stored),
        // Neither is kept with a conflict; its arrival has the address.
        signed_at: None,
        remote_address: None,
        headers: payload.headers,
        body: Bytes::from(payload.body),
        deliveries: plan.deliveries,
    })
}

async fn record(conn: &mut PgConnection, new: &NewReceipt) -> Result<Replayed> {
    if !record_new(conn, &[new]).await?.stored.contains(&new.id) {
        return Err(OperateError::Refused {
            problem: format!("there is a receipt of {} with the scope {:?} already", new.delivery_id, new.hook_scope),
            instead: "look that one up by the delivery id".to_owned(),
        });
    }
    let standings = standings(conn, &[new.id]).await?.remove(&new.id).unwrap_or_default();
    let of_the_event = standings.into_iter().filter(|standing| standing.purpose == Purpose::Deliver);
    let deliveries = of_the_event.map(|standing| ReplayedDelivery {
        delivery: standing.delivery,
        route: standing.route.to_string(),
        state: standing.state,
        done: "planned".to_owned(),
    });
    Ok(Replayed { receipt: new.id, deliveries: deliveries.collect() })
}

fn not_found(conflict: i64) -> OperateError {
    OperateError::NotFound { what: "conflict", name: conflict.to_string() }
}

fn promoted_before(conflict: i64, receipt: ReceiptId) -> OperateError {
    OperateError::Refused {
        problem: format!("conflict {conflict} was promoted already, to {receipt}"),
        instead: "replay that receipt, to run it again".to_owned(),
    }
}
