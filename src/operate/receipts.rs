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
#[into_params(parameter_in = Query)]
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
    pub async fn receipts(&self, _query: &ReceiptQuery) -> Result<Page<ReceiptLine>> {
        Err(OperateError::NotYet)
    }

    /// All that is known about one.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn receipt(&self, _receipt: ReceiptId) -> Result<ReceiptStory> {
        Err(OperateError::NotYet)
    }

    /// From what an operator has in hand (our id of a receipt or a delivery, or the provider's own id) to the receipt.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn look_up(&self, _text: &str, _source: Option<&str>) -> Result<Found> {
        Err(OperateError::NotYet)
    }

    /// What came in, byte for byte.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] when there is no such receipt, [`OperateError::Refused`] when retention has deleted its
    /// payload; those of the database.
    pub async fn payload(&self, _receipt: ReceiptId) -> Result<Payload> {
        Err(OperateError::NotYet)
    }
}
