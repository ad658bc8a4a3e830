//! Which deliveries a stored event needs by the routes of today. Takes what was stored, and identifies and plans it by the same
//! code as intake; writes nothing.

use std::sync::Arc;

use bytes::Bytes;
use sqlx::PgConnection;

use super::{OperateError, Replayed, ReplayedDelivery, Result};
use crate::{
    blueprint::Blueprint,
    domain::{DeliveryState, ReceiptId, RouteName, SourceName, Trigger},
    provider::{self, Identity},
    route::Plan,
    store::{
        call_off::delivery_state,
        receipt_story::Payload,
        replays::{ReplayStep, StoredReceipt, plan_delivery, replay_steps},
        revive::revive_delivery,
    },
};

/// The finished states: what is in one of these can be run again.
const FINISHED: [DeliveryState; 4] =
    [DeliveryState::Succeeded, DeliveryState::Dead, DeliveryState::Skipped, DeliveryState::Cancelled];

/// An event that was stored before.
pub(super) struct StoredEvent {
    /// The way in.
    pub source: SourceName,
    /// What it was called, for the source whose events say that nowhere in their payload: the outbox.
    pub event_type: String,
    /// What it is about, for the same source.
    pub ordering_key: Option<String>,
    /// What came in.
    pub payload: Payload,
}

impl StoredEvent {
    /// The event of a receipt whose payload is still there.
    pub(super) fn of(receipt: ReceiptId, stored: StoredReceipt) -> Result<Self> {
        let StoredReceipt { source, event_type, ordering_key, payload, .. } = stored;
        let payload = payload.ok_or_else(|| OperateError::Refused {
            problem: format!("the payload of {receipt} is gone: retention.payloads has passed"),
            instead: "ask the provider to send the event again".to_owned(),
        })?;
        Ok(Self { source, event_type, ordering_key, payload })
    }
}

/// Identifies an event and asks the routes: all of its source, or `only` this one, which then takes it whatever its patterns
/// and filter say. Filters may look at megabytes, so this leaves the threads that answer others.
///
/// A source that the configuration has no more has no routes, and its events need nothing.
pub(super) async fn plan_again(
    blueprint: Arc<Blueprint>,
    event: StoredEvent,
    only: Option<RouteName>,
) -> Result<Option<(Identity, Plan)>> {
    let work = move || {
        let Some(identity) = identity_of(&blueprint, &event)? else { return Ok(None) };
        let (source, bytes) = (&event.source, event.payload.body.len());
        let plan = match only {
            Some(route) => blueprint.plan_only(source, &identity, bytes, &route).unwrap_or_default(),
            None => blueprint.plan(source, &identity, bytes),
        };
        Ok(Some((identity, plan)))
    };
    tokio::task::spawn_blocking(work).await.expect("planning does not panic, and is not aborted")
}

fn identity_of(blueprint: &Blueprint, event: &StoredEvent) -> Result<Option<Identity>> {
    let Payload { headers, body } = &event.payload;
    let body = Bytes::copy_from_slice(body);
    if event.source == SourceName::outbox() {
        // The number is for the delivery id, which nobody asks for here.
        let key = event.ordering_key.as_deref();
        return Ok(Some(provider::identify_outbox(0, &event.event_type, key, &body)));
    }
    let Some(source) = blueprint.config.sources.get(&event.source) else { return Ok(None) };
    provider::identify(source.provider, headers, &body).map(Some).map_err(|error| OperateError::Refused {
        problem: format!("the event does not read as one of {}: {error}", source.provider),
        instead: format!("see whether [sources.{}] has another provider than when it came in", source.name),
    })
}

/// Runs the deliveries of a receipt whose row is locked again, and plans those that it lacks: each in the order of its lane.
pub(super) async fn run_again(
    conn: &mut PgConnection,
    receipt: ReceiptId,
    only: Option<&RouteName>,
    plan: &Plan,
) -> Result<Replayed> {
    let mut deliveries = Vec::new();
    for step in replay_steps(conn, receipt, only.map(RouteName::as_str), &plan.deliveries).await? {
        deliveries.push(match step {
            ReplayStep::Present { delivery, route, state } => {
                let revived = revive_delivery(conn, delivery, Trigger::Manual, &FINISHED).await?;
                let done = if revived.is_some() { "revived" } else { "left" };
                // One that was running when it was looked at may have ended since.
                let now = if revived.is_some() { revived } else { delivery_state(conn, delivery).await? };
                ReplayedDelivery { delivery, route, state: now.unwrap_or(state), done: done.to_owned() }
            }
            ReplayStep::Absent { planned } => {
                let planned = &plan.deliveries[planned];
                let state = plan_delivery(conn, receipt, planned).await?;
                let (delivery, route) = (planned.delivery, planned.route.to_string());
                ReplayedDelivery { delivery, route, state, done: "planned".to_owned() }
            }
        });
    }
    Ok(Replayed { receipt, deliveries })
}

/// What the audit log says about a replay.
pub(super) fn details_of(replayed: &Replayed) -> serde_json::Value {
    let deliveries = replayed.deliveries.iter().map(
        |one| serde_json::json!({ "delivery": one.delivery, "route": one.route, "done": one.done, "state": one.state }),
    );
    deliveries.collect()
}
