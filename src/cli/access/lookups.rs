//! Looking things up.

use super::Access;
use crate::{
    cli::{
        failure::{NOT_FOUND, exit_code, of_desk},
        payload_text::payload_text,
    },
    domain::{DeliveryRef, Headers, ReceiptId},
    operate::{
        AuditLine, AuditQuery, BulkCount, BulkProgress, BulkRequest, ConflictLine, ConflictQuery, DeadLetterGroup,
        DeliveryQuery, DestinationLine, Found, FoundDelivery, LaneQuery, OperateError, Page, PageRequest, Paused,
        PayloadText, ReceiptQuery, RouteLine, SourceLine, Why,
    },
    store::{
        delivery_list::DeliveryLine,
        lane_list::LaneLine,
        receipt_list::ReceiptLine,
        receipt_story::{Payload, ReceiptStory},
    },
};

/// Receipts that share an id of the provider's are listed up to so many: one a source or hook is usual.
const SHOWN_MAX: u32 = 50;

/// What an operation answers.
type Answer<T> = anyhow::Result<T>;

/// A conflict with both payloads, as text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ConflictTexts {
    /// What is known about it.
    #[serde(flatten)]
    pub line: ConflictLine,
    /// What the first request had; `None` once its time is over.
    pub first: Option<PayloadText>,
    /// What this one has.
    pub other: PayloadText,
}

impl Access {
    /// Receipts, newest first.
    pub async fn receipts(&self, query: &ReceiptQuery) -> Answer<Page<ReceiptLine>> {
        match self {
            Self::Local(local) => local.desk().receipts(query).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["receipts"], query).await,
        }
    }

    /// All that is known about a receipt.
    pub async fn receipt(&self, receipt: ReceiptId) -> Answer<ReceiptStory> {
        match self {
            Self::Local(local) => local.desk().receipt(receipt).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["receipts", &receipt.to_string()], &()).await,
        }
    }

    /// What came in; `None` once its time is over.
    pub async fn payload(&self, receipt: ReceiptId) -> Answer<Option<PayloadText>> {
        match self {
            Self::Local(local) => match local.desk().payload(receipt).await {
                Ok(payload) => Ok(Some(payload_text(&payload))),
                Err(OperateError::Refused { .. }) => Ok(None),
                Err(error) => Err(of_desk(error)),
            },
            Self::Remote(client) => {
                let receipt = receipt.to_string();
                let path = ["receipts", receipt.as_str(), "payload"];
                if let Some(payload) = client.get_unless_gone(&path).await? {
                    return Ok(Some(payload));
                }
                // Refused: it is gone, or too large to be given as text, with its headers.
                let body = client.bytes_unless_gone(&path, &serde_json::json!({ "format": "raw" })).await?;
                Ok(body.map(|body| payload_text(&Payload { headers: Headers::new(), body })))
            }
        }
    }

    /// Why a receipt went where it went.
    pub async fn why(&self, receipt: ReceiptId) -> Answer<Why> {
        match self {
            Self::Local(local) => local.desk().why(receipt).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["receipts", &receipt.to_string(), "why"], &()).await,
        }
    }

    /// From what an operator has in hand to the receipt. The API is asked for no more than lists and single things here, so
    /// that the answer is the same.
    pub async fn look_up(&self, text: &str, source: Option<&str>) -> Answer<Found> {
        if let Ok(receipt) = text.parse::<ReceiptId>() {
            return Ok(Found::Receipt(receipt));
        }
        if let Self::Local(local) = self {
            return local.desk().look_up(text, source).await.map_err(of_desk);
        }
        if let Ok(delivery) = text.parse::<DeliveryRef>() {
            return match self.delivery(delivery).await {
                Ok(found) => Ok(Found::Receipt(found.receipt)),
                Err(error) if exit_code(&error) == NOT_FOUND => Ok(Found::Nothing),
                Err(error) => Err(error),
            };
        }
        let query = ReceiptQuery {
            delivery_id: Some(text.to_owned()),
            source: source.map(str::to_owned),
            limit: Some(SHOWN_MAX),
            ..ReceiptQuery::default()
        };
        let mut lines = self.receipts(&query).await?.items;
        Ok(match lines.len() {
            0 => Found::Nothing,
            1 => Found::Receipt(lines.remove(0).id),
            _ => Found::Several(lines),
        })
    }

    /// Deliveries, newest first.
    pub async fn deliveries(&self, query: &DeliveryQuery) -> Answer<Page<DeliveryLine>> {
        match self {
            Self::Local(local) => local.desk().deliveries(query).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["deliveries"], query).await,
        }
    }

    /// One delivery.
    pub async fn delivery(&self, delivery: DeliveryRef) -> Answer<FoundDelivery> {
        match self {
            Self::Local(local) => local.desk().delivery(delivery).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["deliveries", &delivery.to_string()], &()).await,
        }
    }

    /// Dead letters by what they died of.
    pub async fn dead_letter_groups(&self, query: &DeliveryQuery) -> Answer<Vec<DeadLetterGroup>> {
        match self {
            Self::Local(local) => local.desk().dead_letter_groups(query).await.map_err(of_desk),
            Self::Remote(client) => client.get_all(&["dead-letters", "groups"], query).await,
        }
    }

    /// Lanes, those that have been open the longest first.
    pub async fn lanes(&self, query: &LaneQuery) -> Answer<Page<LaneLine>> {
        match self {
            Self::Local(local) => local.desk().lanes(query).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["lanes"], query).await,
        }
    }

    /// Conflicts, newest first.
    pub async fn conflicts(&self, query: &ConflictQuery) -> Answer<Page<ConflictLine>> {
        match self {
            Self::Local(local) => local.desk().conflicts(query).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["conflicts"], query).await,
        }
    }

    /// One conflict, with both payloads.
    pub async fn conflict(&self, conflict: i64) -> Answer<ConflictTexts> {
        match self {
            Self::Local(local) => {
                let story = local.desk().conflict(conflict).await.map_err(of_desk)?;
                let (first, other) = (story.first.as_ref().map(payload_text), payload_text(&story.other));
                Ok(ConflictTexts { line: story.line, first, other })
            }
            Self::Remote(client) => client.get(&["conflicts", &conflict.to_string()], &()).await,
        }
    }

    /// Sources, by name.
    pub async fn sources(&self) -> Answer<Vec<SourceLine>> {
        match self {
            Self::Local(local) => local.desk().sources().await.map_err(of_desk),
            Self::Remote(client) => client.get_all(&["sources"], &()).await,
        }
    }

    /// One source.
    pub async fn source(&self, name: &str) -> Answer<SourceLine> {
        match self {
            Self::Local(local) => local.desk().source(name).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["sources", name], &()).await,
        }
    }

    /// Destinations, by name.
    pub async fn destinations(&self) -> Answer<Vec<DestinationLine>> {
        match self {
            Self::Local(local) => local.desk().destinations().await.map_err(of_desk),
            Self::Remote(client) => client.get_all(&["destinations"], &()).await,
        }
    }

    /// Routes, as written.
    pub async fn routes(&self) -> Answer<Vec<RouteLine>> {
        match self {
            Self::Local(local) => local.desk().routes().await.map_err(of_desk),
            Self::Remote(client) => client.get_all(&["routes"], &()).await,
        }
    }

    /// All pauses.
    pub async fn pauses(&self) -> Answer<Vec<Paused>> {
        match self {
            Self::Local(local) => local.desk().pauses().await.map_err(of_desk),
            Self::Remote(client) => client.get_all(&["pauses"], &()).await,
        }
    }

    /// The audit log, newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Answer<Page<AuditLine>> {
        match self {
            Self::Local(local) => local.desk().audit(query).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["audit"], query).await,
        }
    }

    /// Bulks, newest first.
    pub async fn bulks(&self, page: &PageRequest) -> Answer<Page<BulkProgress>> {
        match self {
            Self::Local(local) => local.desk().bulks(page).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["bulks"], page).await,
        }
    }

    /// How far a bulk is.
    pub async fn bulk(&self, bulk: &str) -> Answer<BulkProgress> {
        match self {
            Self::Local(local) => local.desk().bulk(bulk).await.map_err(of_desk),
            Self::Remote(client) => client.get(&["bulks", bulk], &()).await,
        }
    }

    /// What a bulk would meet.
    pub async fn count_bulk(&self, request: &BulkRequest) -> Answer<BulkCount> {
        match self {
            Self::Local(local) => local.desk().count_bulk(request).await.map_err(of_desk),
            Self::Remote(client) => client.ask(&["bulks"], &serde_json::json!({ "dry_run": true }), request).await,
        }
    }
}
