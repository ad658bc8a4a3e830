//! Running a receipt again: all of it, one route, or one that matched nothing when it came in.

use serde_json::json;

use super::{
    Desk, Instruction, OperateError, Result,
    audit::note,
    planning::{StoredEvent, details_of, plan_again, run_again},
};
use crate::{
    blueprint::Blueprint,
    domain::{DeliveryRef, DeliveryState, ReceiptId, RouteName, SourceName},
    store::replays::{add_flags, lock_receipt, read_stored_receipt, replay_steps},
};

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Replayed {
    /// The receipt.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// Its deliveries, of the routes that were meant.
    pub deliveries: Vec<ReplayedDelivery>,
}

/// What became of one delivery.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct ReplayedDelivery {
    /// The delivery.
    #[schema(value_type = String)]
    pub delivery: DeliveryRef,
    /// Its route.
    pub route: String,
    /// Where it stands now.
    pub state: DeliveryState,
    /// `revived` (it was finished), `planned` (there was none), `left` (it is under way already).
    pub done: String,
}

impl Desk {
    /// Runs a receipt again: finished deliveries at the tail of their lanes, and a new delivery for a route that has none and
    /// matches today (or is named: then whether it matches or not). Never bypasses the order.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] for the receipt or the route; [`OperateError::Refused`] when it is held, when its payload is
    /// gone, or when there is nothing to run; those of the database.
    pub async fn replay(
        &self,
        receipt: ReceiptId,
        route: Option<&RouteName>,
        instruction: Instruction<'_>,
    ) -> Result<Replayed> {
        let blueprint = self.live.load_full();
        let mut conn = self.pool.acquire().await?;
        let stored = read_stored_receipt(&mut conn, receipt).await?.ok_or_else(|| not_found(receipt))?;
        if stored.is_held {
            return Err(held(receipt));
        }
        if let Some(route) = route
            && replay_steps(&mut conn, receipt, Some(route.as_str()), &[]).await?.is_empty()
        {
            check_route(&blueprint, route, &stored.source)?;
        }
        drop(conn);
        let planned = plan_again(blueprint, StoredEvent::of(receipt, stored)?, route.cloned()).await?;
        let plan = planned.map(|(_, plan)| plan).unwrap_or_default();

        let mut tx = self.pool.begin().await?;
        if lock_receipt(&mut tx, receipt).await?.ok_or_else(|| not_found(receipt))? {
            return Err(held(receipt));
        }
        let replayed = run_again(&mut tx, receipt, route, &plan).await?;
        if replayed.deliveries.iter().all(|one| one.done == "left") {
            return Err(nothing_to_run(&replayed));
        }
        if replayed.deliveries.iter().any(|one| one.done == "planned") {
            add_flags(&mut tx, receipt, &plan.flags()).await?;
        }
        let details = json!({ "route": route.map(RouteName::as_str), "deliveries": details_of(&replayed) });
        note(&mut tx, instruction, "replay", &receipt.to_string(), &details).await?;
        tx.commit().await?;
        self.bell.ring();
        Ok(replayed)
    }
}

pub(super) fn not_found(receipt: ReceiptId) -> OperateError {
    OperateError::NotFound { what: "receipt", name: receipt.to_string() }
}

fn held(receipt: ReceiptId) -> OperateError {
    OperateError::Refused {
        problem: format!("{receipt} is held as a suspected replay and has not been delivered at all"),
        instead: "release it, if it is genuine".to_owned(),
    }
}

/// A route that is named must be able to take the event.
fn check_route(blueprint: &Blueprint, route: &RouteName, source: &SourceName) -> Result<()> {
    let Some(rule) = blueprint.config.routes.iter().find(|rule| rule.name == *route) else {
        return Err(OperateError::NotFound { what: "route", name: route.to_string() });
    };
    if rule.source == *source {
        return Ok(());
    }
    Err(OperateError::Refused {
        problem: format!("the route {route} takes events of {}, and this one came in at {source}", rule.source),
        instead: format!("name a route with source = \"{source}\""),
    })
}

fn nothing_to_run(replayed: &Replayed) -> OperateError {
    if replayed.deliveries.is_empty() {
        return OperateError::Refused {
            problem: format!("{} has no deliveries, and no route takes it today", replayed.receipt),
            instead: "name a route, to run it whether that matches or not".to_owned(),
        };
    }
    OperateError::Refused {
        problem: format!("all deliveries of {} are under way already", replayed.receipt),
        instead: "wait until they are finished, or cancel those that wait".to_owned(),
    }
}
