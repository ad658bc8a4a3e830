//! `oncehook.audit`: rows are added and read, and nothing else; a trigger refuses the rest.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;

/// What is written of one change.
#[derive(Debug, Clone)]
pub struct NewAuditRow<'a> {
    /// Who.
    pub operator: &'a str,
    /// From where: api, dashboard, `command_line`.
    pub via: &'a str,
    /// What.
    pub action: &'a str,
    /// To what.
    pub subject: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
    /// What came of it: an object.
    pub details: &'a serde_json::Value,
}

/// One row.
#[derive(Debug, Clone)]
pub struct AuditRow {
    /// Its number: younger rows have higher ones, as far as their transactions followed one another.
    pub id: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub operator: String,
    /// From where.
    pub via: String,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// What came of it.
    pub details: serde_json::Value,
}

/// Which rows; what is `None` does not matter.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilter<'a> {
    /// By this operator.
    pub operator: Option<&'a str>,
    /// Of this kind.
    pub action: Option<&'a str>,
    /// About this.
    pub subject: Option<&'a str>,
    /// At or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Before this time.
    pub until: Option<DateTime<Utc>>,
    /// Older than this row.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: i64,
}

/// Adds a row. Call it in the transaction of the change. Locks nothing that exists.
///
/// # Errors
/// Those of the database.
pub async fn insert_audit_row(conn: &mut PgConnection, row: &NewAuditRow<'_>) -> Result<()> {
    sqlx::query!(
        "insert into oncehook.audit (operator, via, action, subject, reason, details) values ($1, $2, $3, $4, $5, $6)",
        row.operator,
        row.via,
        row.action,
        row.subject,
        row.reason,
        row.details,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The rows that pass the filter, newest first. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn list_audit_rows(conn: &mut PgConnection, filter: &AuditFilter<'_>) -> Result<Vec<AuditRow>> {
    // What happened to one thing are few rows among many, for which there is an index: a statement of its own, so that no
    // plan that was made for the others reads all of them.
    let rows = match filter.subject {
        Some(subject) => {
            sqlx::query_as!(
                AuditRow,
                "select id, at, operator, via, action, subject, reason, details from oncehook.audit
                 where subject = $1 and ($2::text is null or operator = $2) and ($3::text is null or action = $3)
                   and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)
                   and ($6::bigint is null or id < $6)
                 order by id desc limit $7",
                subject,
                filter.operator,
                filter.action,
                filter.since,
                filter.until,
                filter.before,
                filter.limit,
            )
            .fetch_all(conn)
            .await?
        }
        None => {
            sqlx::query_as!(
                AuditRow,
                "select id, at, operator, via, action, subject, reason, details from oncehook.audit
                 where ($1::text is null or operator = $1) and ($2::text is null or action = $2)
                   and ($3::timestamptz is null or at >= $3) and ($4::timestamptz is null or at < $4)
                   and id < coalesce($5, 9223372036854775807)
                 order by id desc limit $6",
                filter.operator,
                filter.action,
                filter.since,
                filter.until,
                filter.before,
                filter.limit,
            )
            .fetch_all(conn)
            .await?
        }
    };
    Ok(rows)
}
