//! What is known about sources beside their configuration: uses of their secrets, their last receipts. Reads only.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// What is known about the use of one secret.
#[derive(Debug, Clone)]
pub struct SecretUseRow {
    /// Whose.
    pub source: String,
    /// Which.
    pub fingerprint: String,
    /// Its first use.
    pub first_used_at: DateTime<Utc>,
    /// Its last, to about 10 seconds.
    pub last_used_at: DateTime<Utc>,
    /// Requests that it verified.
    pub uses: i64,
}

/// All uses of secrets, of each source the longest unused first: a few rows for each source. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list_secret_uses(conn: &mut PgConnection) -> Result<Vec<SecretUseRow>> {
    Ok(sqlx::query_as!(
        SecretUseRow,
        "select source, fingerprint, first_used_at, last_used_at, uses from oncehook.secret_uses
         order by source, last_used_at"
    )
    .fetch_all(conn)
    .await?)
}

/// When the last receipt of each of these sources came in, in their order. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn last_receipts(conn: &mut PgConnection, sources: &[String]) -> Result<Vec<Option<DateTime<Utc>>>> {
    let rows = sqlx::query_scalar!(
        "select (select r.received_at from oncehook.receipts r where r.source = s.name order by r.id desc limit 1)
         from unnest($1::text[]) with ordinality s(name, place) order by s.place",
        sources,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows)
}
