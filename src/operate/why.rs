//! Why a receipt went where it went: which secret matched, and what each route says to it.

use super::{Desk, OperateError, Result};
use crate::domain::{DeliveryRef, ReceiptId};

/// The reasons.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Why {
    /// The receipt.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// How it was verified, in a sentence: which secret (its fingerprint) matched and whether that is configured today; or
    /// that the source takes unsigned requests.
    pub verified: String,
    /// How its delivery id, event type, ordering key, event time and version were found, one sentence each.
    pub identified: Vec<String>,
    /// What each route of its source says today. Routes may have changed since: each says whether there is a delivery.
    pub routes: Vec<RouteVerdict>,
    /// Holds, suspected replays, other remarks: one sentence each.
    pub remarks: Vec<String>,
}

/// What one route says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct RouteVerdict {
    /// The route.
    pub route: String,
    /// Whether it matches, as the configuration is now.
    pub matches: bool,
    /// Why, in a sentence.
    pub why: String,
    /// The delivery that was planned when the receipt came in or was replayed.
    #[schema(value_type = Option<String>)]
    pub delivery: Option<DeliveryRef>,
    /// Stale, blocked, paused, waiting behind others: what its delivery is up to, in a sentence.
    pub standing: Option<String>,
}

impl Desk {
    /// Why a receipt went where it went. Runs the routes of today over the payload, if that is still there.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn why(&self, _receipt: ReceiptId) -> Result<Why> {
        Err(OperateError::NotYet)
    }
}
