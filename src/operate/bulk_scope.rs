//! Which deliveries a bulk is about: those that pass its filter and stand where its action can be done.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{BulkAction, BulkRequest, DeliveryQuery, OperateError, Result, delivery_criteria::criteria_of};
use crate::{domain::DeliveryRef, store::delivery_search::DeliveryCriteria};

/// Deliveries that can be picked one by one: what a page has room for.
const PICKED_MAX: usize = 1_000;

/// Deliveries that were picked one by one.
pub(super) fn picked(request: &BulkRequest) -> Result<Vec<Uuid>> {
    let invalid = |problem: String, instead: String| OperateError::Invalid { field: "only", problem, instead };
    if request.only.len() > PICKED_MAX {
        let instead = format!("pick up to {PICKED_MAX}, or leave \"only\" out and narrow the filter");
        return Err(invalid(format!("it has {} deliveries", request.only.len()), instead));
    }
    let read = |text: &String| {
        let id = text.parse::<DeliveryRef>().map(DeliveryRef::uuid);
        id.map_err(|error| invalid(error.to_string(), "take the ids from a list of deliveries".to_owned()))
    };
    request.only.iter().map(read).collect()
}

/// What passes the filter and stands where the action can be done.
pub(super) async fn criteria_of_bulk(
    conn: &mut PgConnection,
    action: BulkAction,
    filter: &DeliveryQuery,
    only: &[Uuid],
) -> Result<DeliveryCriteria> {
    let (mut criteria, _) = criteria_of(conn, filter, None).await?;
    criteria.states.retain(|state| action.done_from().contains(state));
    if filter.state.is_none() {
        criteria.states = action.done_from().to_vec();
    } else if criteria.states.is_empty() {
        return Err(OperateError::Invalid {
            field: "state",
            problem: format!("{} cannot be done there", action.as_str()),
            instead: format!(
                "ask for {}",
                action.done_from().iter().map(|s| s.as_str()).collect::<Vec<_>>().join(" or ")
            ),
        });
    }
    if !only.is_empty() {
        criteria.only = Some(only.to_vec());
    }
    Ok(criteria)
}
