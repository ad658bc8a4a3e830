//! Receipts: finding them, and all that is known about one.

use chrono::{DateTime, Utc};

use super::{Desk, OperateError, Page, Result};
use crate::{
    domain::{DeliveryState, ReceiptId},
    store::{
        receipt_list::ReceiptLine,
        receipt_story::{Payload, ReceiptStory},
    },
};

/// Which receipts; what is `None` does not matter. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
pub struct ReceiptQuery {
    /// Came in here.
    pub source: Option<String>,
    /// This event type, or one below it: `pull_request` finds `pull_request.opened`.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    pub event_type: Option<String>,
    /// Exactly this id of the provider's.
    pub delivery_id: Option<String>,
    /// Has a delivery in a lane of this key, or is about this.
    pub ordering_key: Option<String>,
    /// Has a delivery in this state.
    pub state: Option<DeliveryState>,
    /// Has a delivery of this route.
    pub route: Option<String>,
    /// Has a delivery to this destination.
    pub destination: Option<String>,
    /// Received at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Received before this time.
    pub until: Option<DateTime<Utc>>,
    /// Part of an id: of the provider's, of the receipt's, of a delivery's.
    pub q: Option<String>,
    /// A place in the payload, as a JSON pointer (`/repository/full_name`) or dotted (`repository.full_name`); with `value`.
    pub path: Option<String>,
    /// What stands there, as text: `octo/repo`, `42`, `true`.
    pub value: Option<String>,
    /// Has a remark that begins so: `suspected_replay`, `default_lane`.
    pub flag: Option<String>,
    /// Only those held as suspected replays.
    pub held: Option<bool>,
    /// Only those that matched no route.
    pub unmatched: Option<bool>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

/// What an id led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One receipt (which may not be there).
    Receipt(ReceiptId),
    /// Nothing.
    Nothing,
    /// Several receipts, of other sources or hooks.
    Several(Vec<ReceiptLine>),
}

/// A payload for people: headers as text, and the body as text where it is some.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct PayloadText {
    /// Header lines in order, secrets removed.
    pub headers: Vec<(String, String)>,
    /// The body, if it is UTF-8.
    pub text: Option<String>,
    /// The body in base64, if it is not.
    pub base64: Option<String>,
    /// Its size, in bytes.
    pub bytes: usize,
}

impl Desk {
    /// The receipts that pass the filter, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor, limit or path that is none; those of the database.
    pub async fn receipts(&self, query: &ReceiptQuery) -> Result<Page<ReceiptLine>> {
        let filter = crate::store::receipt_list::ReceiptFilter {
            source: query.source.clone(),
            event_type: query.event_type.clone(),
            delivery_id: query.delivery_id.clone().or_else(|| query.q.clone()),
            state: query.state,
            route: query.route.clone(),
            before: query.cursor.as_deref().and_then(|cursor| cursor.parse().ok()),
            limit: query.limit.unwrap_or(50),
        };
        let mut conn = self.pool.acquire().await?;
        let items = crate::store::receipt_list::list_receipts(&mut conn, &filter).await?;
        let next = (items.len() == 50).then(|| items.last().map(|last| last.id.to_string())).flatten();
        Ok(Page { items, next })
    }

    /// All that is known about one.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn receipt(&self, receipt: ReceiptId) -> Result<ReceiptStory> {
        let mut conn = self.pool.acquire().await?;
        let story = crate::store::receipt_story::tell_receipt_story(&mut conn, receipt).await?;
        story.ok_or(OperateError::NotFound { what: "receipt", name: receipt.to_string() })
    }

    /// From what an operator has in hand (our id of a receipt or a delivery, or the provider's own id) to the receipt.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn look_up(&self, text: &str, _source: Option<&str>) -> Result<Found> {
        if let Ok(receipt) = text.parse() {
            return Ok(Found::Receipt(receipt));
        }
        let mut conn = self.pool.acquire().await?;
        if let Ok(delivery) = text.parse() {
            let found = crate::store::receipt_story::receipt_of_delivery(&mut conn, delivery).await?;
            return Ok(found.map_or(Found::Nothing, Found::Receipt));
        }
        let query = ReceiptQuery { delivery_id: Some(text.to_owned()), ..ReceiptQuery::default() };
        let mut items = self.receipts(&query).await?.items;
        Ok(match items.len() {
            0 => Found::Nothing,
            1 => Found::Receipt(items.remove(0).id),
            _ => Found::Several(items),
        })
    }

    /// What came in, byte for byte.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] when there is no such receipt, [`OperateError::Refused`] when retention has deleted its
    /// payload; those of the database.
    pub async fn payload(&self, receipt: ReceiptId) -> Result<Payload> {
        let mut conn = self.pool.acquire().await?;
        let payload = crate::store::receipt_story::read_payload(&mut conn, receipt).await?;
        payload.ok_or(OperateError::Refused { problem: "its payload is gone".into(), instead: String::new() })
    }
}
