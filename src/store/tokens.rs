//! `oncehook.operator_tokens`: tokens that operators were given, by their digests. Never sees a token itself.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Result;
use crate::operate::Role;

/// A token as it is kept, without what would let anybody in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// Its name.
    pub name: String,
    /// What its holder may do.
    pub role: Role,
    /// Since when it is there.
    pub created_at: DateTime<Utc>,
    /// When it ends. `None`: when it is revoked.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Whether its time is over.
    pub is_expired: bool,
}

/// The holder of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The token's name.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

/// Adds a token. False when there is one of this name. `lasts`: how long it is good; for ever without.
///
/// # Errors
/// Those of the database.
pub async fn insert_token(
    conn: &mut PgConnection,
    name: &str,
    role: Role,
    digest: &[u8],
    lasts: Option<Duration>,
) -> Result<bool> {
    let done = sqlx::query!(
        "insert into oncehook.operator_tokens (name, role, digest, expires_at)
         values ($1, $2, $3, oncehook.now() + make_interval(secs => $4))
         on conflict (name) do nothing",
        name,
        role.as_str(),
        digest,
        lasts.map(|lasts| lasts.as_secs_f64()),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Adds the first token. False when there is any that is still good. Of several callers at once one adds it: the name is
/// theirs in common.
///
/// # Errors
/// Those of the database.
pub async fn insert_first_token(conn: &mut PgConnection, name: &str, role: Role, digest: &[u8]) -> Result<bool> {
    let done = sqlx::query!(
        "insert into oncehook.operator_tokens (name, role, digest)
         select $1, $2, $3
         where not exists (select from oncehook.operator_tokens where expires_at is null or expires_at > oncehook.now())
         on conflict (name) do nothing",
        name,
        role.as_str(),
        digest,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes a token whose time is over, with its sessions, so that its name is free.
///
/// # Errors
/// Those of the database.
pub async fn delete_expired_token(conn: &mut PgConnection, name: &str) -> Result<()> {
    sqlx::query!("delete from oncehook.operator_tokens where name = $1 and expires_at <= oncehook.now()", name)
        .execute(conn)
        .await?;
    Ok(())
}

/// All tokens, in the order of their names. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn list_tokens(conn: &mut PgConnection) -> Result<Vec<StoredToken>> {
    let rows = sqlx::query!(
        r#"select name, role, created_at, expires_at, last_used_at,
                  coalesce(expires_at <= oncehook.now(), false) as "is_expired!"
           from oncehook.operator_tokens order by name"#,
    )
    .fetch_all(conn)
    .await?;
    let tokens = rows.into_iter().map(|row| StoredToken {
        name: row.name,
        role: role_of(&row.role),
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
        is_expired: row.is_expired,
    });
    Ok(tokens.collect())
}

/// The holder of the token with this digest, if it is good. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn find_holder(conn: &mut PgConnection, digest: &[u8]) -> Result<Option<Holder>> {
    let row = sqlx::query!(
        "select name, role from oncehook.operator_tokens
         where digest = $1 and (expires_at is null or expires_at > oncehook.now())",
        digest,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Holder { role: role_of(&row.role), name: row.name }))
}

/// Notes that a token was used. At most one write a minute and token, so that reading does not become writing. Locks the
/// token's row then.
///
/// # Errors
/// Those of the database.
pub async fn note_use(conn: &mut PgConnection, name: &str) -> Result<()> {
    sqlx::query!(
        "update oncehook.operator_tokens set last_used_at = oncehook.now()
         where name = $1 and (last_used_at is null or last_used_at < oncehook.now() - interval '1 minute')",
        name,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes a token and its sessions. `None`: there is none of this name; else how many sessions ended.
///
/// # Errors
/// Those of the database.
pub async fn delete_token(conn: &mut PgConnection, name: &str) -> Result<Option<i64>> {
    let sessions = sqlx::query_scalar!(
        r#"delete from oncehook.operator_tokens where name = $1
           returning (select count(*) from oncehook.operator_sessions where stored_token = $1) as "sessions!""#,
        name,
    )
    .fetch_optional(conn)
    .await?;
    Ok(sessions)
}

/// A CHECK holds the words; a word that is none of them may do the least.
pub(super) fn role_of(word: &str) -> Role {
    if word == Role::Operate.as_str() { Role::Operate } else { Role::Read }
}
