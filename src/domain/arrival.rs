//! Arrivals: single HTTP requests for a receipt.

use chrono::{DateTime, Utc};

use super::{DeliveryRef, DeliveryState, Purpose, ReceiptId, RouteName};

/// What one HTTP request was for its receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalKind {
    /// It made the receipt.
    First,
    /// The same event with the same payload again, or through another hook.
    Duplicate,
    /// The same event with another payload: kept beside the first, never run.
    Conflict,
}

/// What recording one request came to. Every variant is committed before it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A new receipt, with so many deliveries.
    First {
        /// The receipt that was made.
        receipt: ReceiptId,
    },
    /// A new receipt without deliveries: the same bytes were stored before under another delivery id, and the source holds
    /// such until an operator releases them.
    Held {
        /// The receipt that was made.
        receipt: ReceiptId,
    },
    /// The same payload was stored before.
    Duplicate(SeenBefore),
    /// The same bytes were stored before under another delivery id, and the source refuses that; nothing of this request is
    /// kept.
    Replay {
        /// The receipt of those bytes.
        earlier: ReceiptId,
    },
    /// Another payload was stored before under this delivery id; this one is kept as a conflict.
    Conflict(SeenBefore),
}

/// The receipt that was there first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenBefore {
    /// The receipt.
    pub receipt: ReceiptId,
    /// When its first request had been read whole, by the receiving node's clock.
    pub first_received_at: DateTime<Utc>,
    /// Whether it waits for an operator to release it, and has no deliveries for that.
    pub is_held: bool,
    /// Where its deliveries stand now.
    pub deliveries: Vec<Standing>,
}

/// Where one delivery of a receipt that was seen before stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The rule that asked for it.
    pub route: RouteName,
    /// The delivery.
    pub delivery: DeliveryRef,
    /// What it is for.
    pub purpose: Purpose,
    /// Its state, once this request is recorded.
    pub state: DeliveryState,
    /// Whether it was dead, and this request made it run again.
    pub is_revived: bool,
}
