//! Deliveries, and among them the dead letters.

use chrono::{DateTime, Utc};

use uuid::Uuid;

use super::{
    Desk, OperateError, Page, Result,
    delivery_criteria::criteria_of,
    page::{cursor_of, key_of, limit_of},
    receipt_criteria::PartIs,
};
use crate::{
    domain::{AttemptId, DeliveryRef, DeliveryState, ReceiptId},
    store::{
        dead_letter_groups::{GroupRow, dead_letter_groups},
        delivery_list::{DeliveryLine, delivery_lines},
        delivery_search::search_deliveries,
        delivery_story::{AttemptFacts, DeliveryStory, deliveries_of, find_attempt},
        receipt_story::{begin_reading, receipt_of_delivery},
        walk::Direction,
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
    /// Its receipt came in at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Its receipt came in before this time.
    pub until: Option<DateTime<Utc>>,
    /// Its last error contains this text, whatever the letters' size.
    pub error: Option<String>,
    /// Belongs to this group of dead letters: see [`DeadLetterGroup::group`].
    pub group: Option<String>,
    /// Part of an id, as with receipts: of the provider's, of the receipt's, of its own.
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

/// Where a page of deliveries begins, and how `q` was understood.
const LIST: &str = "deliveries 1";

impl Desk {
    /// The deliveries that pass the filter, by their receipts newest first.
    ///
    /// A page looks at so many deliveries and no more: it may hold fewer than were asked for, or none, and have a `next`.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn deliveries(&self, query: &DeliveryQuery) -> Result<Page<DeliveryLine>> {
        let limit = limit_of(query.limit)?;
        let begin: Option<(ReceiptId, DeliveryRef, PartIs)> = key_of(LIST, query.cursor.as_deref())?;
        let beyond = begin.map(|(receipt, delivery, _)| (receipt.uuid(), delivery.uuid()));
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let (criteria, part_is) = criteria_of(&mut tx, query, begin.map(|begin| begin.2)).await?;
        let walked = search_deliveries(&mut tx, &criteria, Direction::NewestFirst, beyond, i64::from(limit)).await?;
        let ids: Vec<Uuid> = walked.found.iter().map(|place| place.1).collect();
        let items = delivery_lines(&mut tx, &ids).await?;
        tx.commit().await?;
        let next = walked.next.map(|(receipt, delivery)| {
            cursor_of(LIST, &(ReceiptId::from(receipt), DeliveryRef::from(delivery), part_is))
        });
        Ok(Page { items, next })
    }

    /// One delivery with all that was tried.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn delivery(&self, delivery: DeliveryRef) -> Result<FoundDelivery> {
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let missing = || OperateError::NotFound { what: "delivery", name: delivery.to_string() };
        let receipt = receipt_of_delivery(&mut tx, delivery).await?.ok_or_else(missing)?;
        let all = deliveries_of(&mut tx, receipt).await?;
        tx.commit().await?;
        let story = all.into_iter().find(|story| story.id == delivery).ok_or_else(missing)?;
        Ok(FoundDelivery { receipt, delivery: story })
    }

    /// One attempt, with all that is kept of the answer.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn attempt(&self, attempt: AttemptId) -> Result<AttemptFacts> {
        let found = find_attempt(&mut *self.pool.acquire().await?, attempt).await?;
        found.ok_or_else(|| OperateError::NotFound { what: "attempt", name: attempt.to_string() })
    }

    /// Dead letters that pass the filter (whose `state` is not looked at), by what they died of, the largest group first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a filter that is none; those of the database.
    pub async fn dead_letter_groups(&self, query: &DeliveryQuery) -> Result<Vec<DeadLetterGroup>> {
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let query = DeliveryQuery { state: None, ..query.clone() };
        let (criteria, _) = criteria_of(&mut tx, &query, None).await?;
        let groups = dead_letter_groups(&mut tx, &criteria).await?;
        tx.commit().await?;
        Ok(groups.into_iter().map(DeadLetterGroup::of).collect())
    }
}

impl DeadLetterGroup {
    fn of(row: GroupRow) -> Self {
        let GroupRow { dead_group, route, destination, error, count, first_at, last_at } = row;
        Self { group: dead_group, route, destination, error, count, first_at, last_at }
    }
}
