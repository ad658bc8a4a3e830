//! Where receipts stand in the histories of their subjects. Takes a receipt's id, gives what staleness compares. Never
//! changes anything.

use sqlx::PgConnection;

use super::Result;
use crate::domain::{Chain, ReceiptId, Stand, Version};

/// Event time and version of a receipt; `None` when there is no such receipt (any more). Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn find_stand(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Option<Stand>> {
    let row = sqlx::query!(
        "select event_time, version, version_scale, version_from, version_to, chain_first
         from oncehook.receipts where id = $1",
        receipt.uuid()
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let is_chained = row.version_from.is_some() || row.version_to.is_some();
        let chain = Chain { from: row.version_from, to: row.version_to, is_first: row.chain_first };
        let version = row.version.zip(row.version_scale);
        let version =
            version.map(|(parts, scale)| Version { scale: scale.into(), parts, chain: is_chained.then_some(chain) });
        Stand { event_time: row.event_time, version }
    }))
}
