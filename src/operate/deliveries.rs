//! Deliveries, and among them the dead letters.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Page, Result};
use crate::{
    domain::{AttemptId, DeliveryRef, DeliveryState, ReceiptId},
    store::{
        delivery_list::DeliveryLine,
        delivery_story::{AttemptFacts, DeliveryStory},
    },
};

/// Which deliveries; what is `None` does not matter. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
pub struct DeliveryQuery {
    /// Stands here.
    pub state: Option<DeliveryState>,
    /// Comes from this rule.
    pub route: Option<String>,
    /// Goes there.
    pub destination: Option<String>,
    /// Its receipt came in here.
    pub source: Option<String>,
    /// Its receipt has this event type, or one below it.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    pub event_type: Option<String>,
    /// Is in a lane of this key.
    pub ordering_key: Option<String>,
    /// Planned at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Planned before this time.
    pub until: Option<DateTime<Utc>>,
    /// Its last error contains this text, whatever the letters' size.
    pub error: Option<String>,
    /// Belongs to this group of dead letters: see [`DeadLetterGroup::group`].
    pub group: Option<String>,
    /// Part of an id: of the provider's, of the receipt's, of its own.
    pub q: Option<String>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

/// A delivery with the receipt that it delivers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct FoundDelivery {
    /// What it delivers.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// The delivery.
    #[serde(flatten)]
    pub delivery: DeliveryStory,
}

/// Dead letters that died of the same: one route, one destination, one error but for its numbers and ids.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct DeadLetterGroup {
    /// Names it in filters: stable for the same route, destination and error.
    pub group: String,
    /// The route.
    pub route: String,
    /// The destination.
    pub destination: String,
    /// The error of the youngest.
    pub error: String,
    /// How many there are.
    pub count: i64,
    /// When the first of them died.
    pub first_at: DateTime<Utc>,
    /// When the last of them died.
    pub last_at: DateTime<Utc>,
}

impl Desk {
    /// The deliveries that pass the filter, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn deliveries(&self, query: &DeliveryQuery) -> Result<Page<DeliveryLine>> {
        let filter = crate::store::delivery_list::DeliveryFilter {
            state: query.state,
            route: query.route.clone(),
            source: query.source.clone(),
            before: query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()),
            limit: query.limit.unwrap_or(50),
        };
        let mut conn = self.pool.acquire().await?;
        let items = crate::store::delivery_list::list_deliveries(&mut conn, &filter).await?;
        let next = (items.len() == 50).then(|| items.last().map(|last| last.id.to_string())).flatten();
        Ok(Page { items, next })
    }

    /// One delivery with all that was tried.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn delivery(&self, delivery: DeliveryRef) -> Result<FoundDelivery> {
        let mut conn = self.pool.acquire().await?;
        let gone = || OperateError::NotFound { what: "delivery", name: delivery.to_string() };
        let receipt = crate::store::receipt_story::receipt_of_delivery(&mut conn, delivery).await?.ok_or_else(gone)?;
        let all = crate::store::delivery_story::deliveries_of(&mut conn, receipt).await?;
        let delivery = all.into_iter().find(|each| each.id == delivery).ok_or_else(gone)?;
        Ok(FoundDelivery { receipt, delivery })
    }

    /// One attempt.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn attempt(&self, _attempt: AttemptId) -> Result<AttemptFacts> {
        Err(OperateError::NotYet)
    }

    /// Dead letters that pass the filter (whose `state` is not looked at), by what they died of, the largest group first.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn dead_letter_groups(&self, query: &DeliveryQuery) -> Result<Vec<DeadLetterGroup>> {
        let query = DeliveryQuery { limit: Some(500), ..query.clone() };
        let mut groups: Vec<DeadLetterGroup> = Vec::new();
        for dead in self.deliveries(&query).await?.items {
            let error = dead.last_error.unwrap_or_default();
            let at = dead.finished_at.unwrap_or(dead.due_at);
            match groups.iter_mut().find(|group| group.route == dead.route && group.error == error) {
                Some(group) => {
                    group.count += 1;
                    group.first_at = at;
                }
                None => groups.push(DeadLetterGroup {
                    group: "standin".into(),
                    route: dead.route,
                    destination: dead.destination,
                    error,
                    count: 1,
                    first_at: at,
                    last_at: at,
                }),
            }
        }
        Ok(groups)
    }
}
