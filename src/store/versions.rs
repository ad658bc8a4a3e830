//! Versions of receipts. Takes a receipt's id, gives what staleness compares. Never changes anything.

use sqlx::PgConnection;

use super::Result;
use crate::domain::{Chain, ReceiptId, Version};

/// The version of a receipt; `None` when it has none, or when there is no such receipt (any more). Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn find_version(conn: &mut PgConnection, receipt: ReceiptId) -> Result<Option<Version>> {
    let row = sqlx::query!(
        "select version, version_scale, version_from, version_to, chain_first from oncehook.receipts where id = $1",
        receipt.uuid()
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let is_chained = row.version_from.is_some() || row.version_to.is_some();
    let chain = Chain { from: row.version_from, to: row.version_to, is_first: row.chain_first };
    let version = row.version.zip(row.version_scale);
    Ok(version.map(|(parts, scale)| Version { scale, parts, chain: is_chained.then_some(chain) }))
}
