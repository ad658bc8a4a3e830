//! A stand-in until branch work-mutate is merged, and loses there: writes nothing.

use sqlx::PgConnection;

use super::Result;
use crate::operate::Operator;

/// Adds a row to the audit log. Call it in the transaction of the change.
///
/// # Errors
/// Those of the database.
pub async fn record_audit(
    _conn: &mut PgConnection,
    _by: &Operator,
    _action: &str,
    _subject: &str,
    _reason: Option<&str>,
    _details: &serde_json::Value,
) -> Result<()> {
    Ok(())
}
