//! From what an operator has in hand (our id of a receipt or a delivery, or the provider's own id) to the receipt.

use sqlx::PgConnection;

use crate::{
    domain::{DeliveryRef, ReceiptId},
    store::{
        self,
        receipt_list::{ReceiptFilter, ReceiptLine, list_receipts},
        receipt_story::receipt_of_delivery,
    },
};

/// Receipts that share an id of the provider's are listed up to so many: one a source or hook is usual.
const SHOWN_MAX: u32 = 50;

/// What an id led to.
#[derive(Debug)]
pub(super) enum Found {
    /// One receipt (which may not be there).
    Receipt(ReceiptId),
    /// Nothing.
    Nothing,
    /// Several receipts, of other sources or hooks.
    Several(Vec<ReceiptLine>),
}

/// Looks an id up.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn look_up(conn: &mut PgConnection, text: &str, source: Option<&str>) -> store::Result<Found> {
    if let Ok(receipt) = text.parse::<ReceiptId>() {
        return Ok(Found::Receipt(receipt));
    }
    if let Ok(delivery) = text.parse::<DeliveryRef>() {
        return Ok(receipt_of_delivery(conn, delivery).await?.map_or(Found::Nothing, Found::Receipt));
    }
    let filter = ReceiptFilter {
        delivery_id: Some(text.to_owned()),
        source: source.map(str::to_owned),
        limit: SHOWN_MAX,
        ..ReceiptFilter::default()
    };
    let mut lines = list_receipts(conn, &filter).await?;
    Ok(match lines.len() {
        0 => Found::Nothing,
        1 => Found::Receipt(lines.remove(0).id),
        _ => Found::Several(lines),
    })
}
