//! The audit log: who changed what, when and why. Written in the transaction of the change; never changed.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{Desk, Instruction, OperateError, Page, Result, Via, page::limit_of};
use crate::store::{
    StoreError,
    audit::{AuditFilter, AuditRow, NewAuditRow, insert_audit_row, list_audit_rows},
};

/// Which entries. As a query string: these names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
pub struct AuditQuery {
    /// By this operator.
    pub operator: Option<String>,
    /// Of this kind: retry, replay, cancel, …
    pub action: Option<String>,
    /// About this: `dlv_…`, `rcp_…`, the name of a route.
    pub subject: Option<String>,
    /// At or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Before this time.
    pub until: Option<DateTime<Utc>>,
    /// Where the page begins: `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many items: 1 to 500, by default 50.
    pub limit: Option<u32>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct AuditLine {
    /// Its number.
    pub entry: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub operator: String,
    /// From where.
    pub via: Via,
    /// What: retry, cancel, discard, replay, release, promote, unblock, pause, resume, bulk_…, login, logout.
    pub action: String,
    /// To what: `dlv_…`, `rcp_…`, a lane, a name.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// What came of it.
    #[schema(value_type = Object)]
    pub details: serde_json::Value,
}

/// Writes down a change, in its transaction: call it for what was done, and before the commit.
///
/// `details`: an object, with what came of it.
///
/// # Errors
/// [`OperateError::Invalid`] for a reason that cannot be kept; those of the database. The change must not be committed then.
pub(super) async fn note(
    conn: &mut PgConnection,
    instruction: Instruction<'_>,
    action: &str,
    subject: &str,
    details: &serde_json::Value,
) -> Result<()> {
    let reason = instruction.reason_to_keep()?;
    let Instruction { by, .. } = instruction;
    let row = NewAuditRow { operator: &by.name, via: by.via.as_str(), action, subject, reason, details };
    Ok(insert_audit_row(conn, &row).await?)
}

impl Desk {
    /// The audit log, newest first.
    ///
    /// # Errors
    /// [`OperateError::Invalid`] for a cursor or limit that is none; those of the database.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Page<AuditLine>> {
        let limit = limit_of(query.limit)?;
        let filter = AuditFilter {
            operator: query.operator.as_deref(),
            action: query.action.as_deref(),
            subject: query.subject.as_deref(),
            since: query.since,
            until: query.until,
            before: query.cursor.as_deref().map(place_of).transpose()?,
            // One more tells whether there is a next page.
            limit: i64::from(limit) + 1,
        };
        let mut rows = list_audit_rows(&mut *self.pool.acquire().await?, &filter).await?;
        let is_last = rows.len() <= limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().filter(|_| !is_last).map(|row| row.id.to_string());
        let items = rows.into_iter().map(AuditLine::of).collect::<Result<_>>()?;
        Ok(Page { items, next })
    }
}

impl AuditLine {
    fn of(row: AuditRow) -> Result<Self> {
        let via = [Via::Api, Via::Dashboard, Via::CommandLine].into_iter().find(|via| via.as_str() == row.via);
        let unknown =
            || StoreError::inconsistent("oncehook.audit", "via", row.id, "a word that this version does not know");
        Ok(Self {
            entry: row.id,
            at: row.at,
            operator: row.operator,
            via: via.ok_or_else(unknown)?,
            action: row.action,
            subject: row.subject,
            reason: row.reason,
            details: row.details,
        })
    }
}

fn place_of(cursor: &str) -> Result<i64> {
    cursor.parse().map_err(|_| OperateError::Invalid {
        field: "cursor",
        problem: "it is none that this list has given".to_owned(),
        instead: "take `next` of the page before, or leave it out for the first page".to_owned(),
    })
}
