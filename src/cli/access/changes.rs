//! Changing things. Each is written into the audit log under the account on this machine, or under the token's name elsewhere.

use serde_json::json;

use super::Access;
use crate::{
    cli::failure::of_desk,
    domain::{DeliveryRef, LaneKey, ReceiptId, RouteName},
    operate::{BulkProgress, BulkRequest, Changed, Pausable, Replayed},
};

/// What an operation answers.
type Answer<T> = anyhow::Result<T>;

/// Why, in the operator's words.
type Reason<'a> = Option<&'a str>;

impl Access {
    /// Asks for a dead or cancelled delivery once more.
    pub async fn retry(&self, delivery: DeliveryRef, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().retry(delivery, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                client.post(&["deliveries", &delivery.to_string(), "retry"], &json!({ "reason": reason })).await
            }
        }
    }

    /// Calls a delivery off that has not run yet.
    pub async fn cancel(&self, delivery: DeliveryRef, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().cancel(delivery, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                client.post(&["deliveries", &delivery.to_string(), "cancel"], &json!({ "reason": reason })).await
            }
        }
    }

    /// Takes a delivery off the dead letters.
    pub async fn discard(&self, delivery: DeliveryRef, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().discard(delivery, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                client.post(&["deliveries", &delivery.to_string(), "discard"], &json!({ "reason": reason })).await
            }
        }
    }

    /// Runs a receipt again, or one route of it.
    pub async fn replay(&self, receipt: ReceiptId, route: Option<&RouteName>, reason: Reason<'_>) -> Answer<Replayed> {
        match self {
            Self::Local(local) => local.desk().replay(receipt, route, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                let body = json!({ "route": route, "reason": reason });
                client.post(&["receipts", &receipt.to_string(), "replay"], &body).await
            }
        }
    }

    /// Lets a held receipt go on its way.
    pub async fn release(&self, receipt: ReceiptId, reason: Reason<'_>) -> Answer<Replayed> {
        match self {
            Self::Local(local) => local.desk().release(receipt, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                client.post(&["receipts", &receipt.to_string(), "release"], &json!({ "reason": reason })).await
            }
        }
    }

    /// Makes a receipt of a conflict.
    pub async fn promote(&self, conflict: i64, reason: Reason<'_>) -> Answer<Replayed> {
        match self {
            Self::Local(local) => local.desk().promote(conflict, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                client.post(&["conflicts", &conflict.to_string(), "promote"], &json!({ "reason": reason })).await
            }
        }
    }

    /// Lets a blocked lane go on.
    pub async fn unblock_lane(&self, lane: &LaneKey, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().unblock_lane(lane, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => {
                let body = json!({ "route": lane.route, "ordering_key": lane.ordering_key, "reason": reason });
                client.post(&["lanes", "unblock"], &body).await
            }
        }
    }

    /// Pauses a route or a destination.
    pub async fn pause(&self, kind: Pausable, name: &str, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().pause(kind, name, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => client.post(&[folder(kind), name, "pause"], &json!({ "reason": reason })).await,
        }
    }

    /// Ends a pause.
    pub async fn resume(&self, kind: Pausable, name: &str, reason: Reason<'_>) -> Answer<Changed> {
        match self {
            Self::Local(local) => local.desk().resume(kind, name, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => client.post(&[folder(kind), name, "resume"], &json!({ "reason": reason })).await,
        }
    }

    /// Begins a bulk.
    pub async fn begin_bulk(&self, request: &BulkRequest) -> Answer<BulkProgress> {
        match self {
            Self::Local(local) => {
                let instruction = local.instruction(request.reason.as_deref());
                local.desk().begin_bulk(request, instruction).await.map_err(of_desk)
            }
            Self::Remote(client) => client.post(&["bulks"], request).await,
        }
    }

    /// Stops a bulk where it is.
    pub async fn stop_bulk(&self, bulk: &str, reason: Reason<'_>) -> Answer<BulkProgress> {
        match self {
            Self::Local(local) => local.desk().stop_bulk(bulk, local.instruction(reason)).await.map_err(of_desk),
            Self::Remote(client) => client.post(&["bulks", bulk, "stop"], &json!({ "reason": reason })).await,
        }
    }

    /// Works off one step of a bulk. False: there was nothing to do here, since an appliance elsewhere does that itself, or another
    /// process has it in hand.
    pub async fn work_bulks(&self) -> Answer<bool> {
        match self {
            Self::Local(local) => local.desk().work_bulks().await.map_err(of_desk),
            Self::Remote(_) => Ok(false),
        }
    }
}

fn folder(kind: Pausable) -> &'static str {
    match kind {
        Pausable::Route => "routes",
        Pausable::Destination => "destinations",
    }
}
