//! `oncehook.destination_health` for people. Reads only; `figures` adds to it.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// How attempts at a destination went.
#[derive(Debug, Clone)]
pub struct HealthRow {
    /// Which.
    pub destination: String,
    /// When one last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When one last failed.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that ended.
    pub last_failure: Option<String>,
    /// How many failed since the last success.
    pub failures_in_a_row: i64,
}

/// All destinations to which there ever was an attempt. Takes no locks.
///
/// # Errors
/// When the database cannot be asked.
pub async fn list_health(conn: &mut PgConnection) -> Result<Vec<HealthRow>> {
    Ok(sqlx::query_as!(
        HealthRow,
        "select destination, last_success_at, last_failure_at, last_failure, failures_in_a_row
         from oncehook.destination_health"
    )
    .fetch_all(conn)
    .await?)
}
