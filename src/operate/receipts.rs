//! Receipts: finding them, and all that is known about one.

use chrono::{DateTime, Utc};

use super::{
    Desk, OperateError, Page, Result,
    page::{cursor_of, key_of, limit_of, text_of},
    payload_search::{Wanted, search_payloads},
    receipt_criteria::{PartIs, criteria_of},
};
use crate::{
    domain::{AttemptId, DeliveryRef, DeliveryState, ReceiptId},
    store::{
        delivery_story::receipt_of_attempt,
        receipt_list::{ReceiptLine, receipt_lines},
        receipt_search::{ReceiptCriteria, search_receipts},
        receipt_story::{Payload, ReceiptStory, begin_reading, read_payload, receipt_of_delivery, tell_receipt_story},
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
    /// Part of an id. What begins an id (the provider's, `rcp_…`, `dlv_…`) is found wherever it is; if nothing begins so, the
    /// provider's ids are searched for it, the newest first, so many a page.
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

/// Where a page of receipts begins, and how `q` was understood.
const LIST: &str = "receipts 1";

/// Receipts that share an id of the provider's are listed up to so many: one a source or hook is usual.
const ALIKE_SHOWN_MAX: i64 = 50;

impl Desk {
    /// The receipts that pass the filter, newest first.
    ///
    /// A page looks at so many receipts and no more: it may hold fewer than were asked for, or none, and have a `next`.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor, limit or path that is none; those of the database.
    pub async fn receipts(&self, query: &ReceiptQuery) -> Result<Page<ReceiptLine>> {
        let limit = limit_of(query.limit)?;
        let begin: Option<(ReceiptId, PartIs)> = key_of(LIST, query.cursor.as_deref())?;
        let (before, part_is) = begin.unzip();
        let before = before.map(ReceiptId::uuid);
        let wanted = Wanted::of(query)?;
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let (criteria, part_is) = criteria_of(&mut tx, query, part_is).await?;
        let walked = match wanted {
            None => search_receipts(&mut tx, &criteria, before, i64::from(limit)).await?,
            Some(wanted) => {
                let blueprint = self.live.load_full();
                search_payloads(&mut tx, &blueprint, &criteria, &wanted, before, limit as usize).await?
            }
        };
        let items = receipt_lines(&mut tx, &walked.found).await?;
        tx.commit().await?;
        let next = walked.next.map(|next| cursor_of(LIST, &(ReceiptId::from(next), part_is)));
        Ok(Page { items, next })
    }

    /// All that is known about one.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn receipt(&self, receipt: ReceiptId) -> Result<ReceiptStory> {
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let story = tell_receipt_story(&mut tx, receipt).await?;
        tx.commit().await?;
        story.ok_or_else(|| no_receipt(receipt))
    }

    /// From what an operator has in hand (our id of a receipt, a delivery or an attempt, or the provider's own id) to the receipt.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a text that is no id of any kind; those of the database.
    pub async fn look_up(&self, text: &str, source: Option<&str>) -> Result<Found> {
        let text = text.trim();
        if let Ok(receipt) = text.parse::<ReceiptId>() {
            return Ok(Found::Receipt(receipt));
        }
        let Some(delivery_id) = text_of("id", Some(&text.to_owned()))? else { return Ok(Found::Nothing) };
        let mut conn = self.pool.acquire().await?;
        if let Ok(delivery) = text.parse::<DeliveryRef>() {
            let receipt = receipt_of_delivery(&mut conn, delivery).await?;
            return Ok(receipt.map_or(Found::Nothing, Found::Receipt));
        }
        if let Ok(attempt) = text.parse::<AttemptId>() {
            let receipt = receipt_of_attempt(&mut conn, attempt).await?;
            return Ok(receipt.map_or(Found::Nothing, Found::Receipt));
        }
        let source = text_of("source", source.map(str::to_owned).as_ref())?;
        let criteria = ReceiptCriteria { delivery_id: Some(delivery_id), source, ..ReceiptCriteria::default() };
        let found = search_receipts(&mut conn, &criteria, None, ALIKE_SHOWN_MAX).await?.found;
        Ok(match found[..] {
            [] => Found::Nothing,
            [one] => Found::Receipt(one.into()),
            _ => Found::Several(receipt_lines(&mut conn, &found).await?),
        })
    }

    /// What came in, byte for byte.
    ///
    /// # Errors
    /// [`OperateError::NotFound`] when there is no such receipt, [`OperateError::Refused`] when retention has deleted its
    /// payload; those of the database.
    pub async fn payload(&self, receipt: ReceiptId) -> Result<Payload> {
        let mut conn = self.pool.acquire().await?;
        if let Some(payload) = read_payload(&mut conn, receipt).await? {
            return Ok(payload);
        }
        if receipt_lines(&mut conn, &[receipt.uuid()]).await?.is_empty() {
            return Err(no_receipt(receipt));
        }
        Err(OperateError::Refused {
            problem: format!("the payload of {receipt} is no longer kept"),
            instead: "ask the provider to send the event again; what is known about the receipt is still there"
                .to_owned(),
        })
    }
}

fn no_receipt(receipt: ReceiptId) -> OperateError {
    OperateError::NotFound { what: "receipt", name: receipt.to_string() }
}
