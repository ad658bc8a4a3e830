//! Tokens of operators in the database: made, listed, taken back. A token is told once, to whoever makes it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{Connection as _, PgConnection};

use super::{OperateError, Operator, Result, Role};
use crate::{
    domain::{OperatorToken, TokenName},
    store::{audit, tokens},
};

/// What the token that a first start makes is called.
pub const FIRST_TOKEN: &str = "admin";

/// A token, without what would let anybody in.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TokenLine {
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

/// What revoking came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct RevokedToken {
    /// Sessions on the pages that ended with it.
    pub sessions: i64,
}

/// All tokens in the database, in the order of their names.
///
/// # Errors
/// Those of the database.
pub async fn list_tokens(conn: &mut PgConnection) -> Result<Vec<TokenLine>> {
    let lines = tokens::list_tokens(conn).await?.into_iter().map(|token| TokenLine {
        name: token.name,
        role: token.role,
        created_at: token.created_at,
        expires_at: token.expires_at,
        last_used_at: token.last_used_at,
        is_expired: token.is_expired,
    });
    Ok(lines.collect())
}

/// Makes a token, good for `lasts`, or until it is revoked.
///
/// # Errors
/// [`OperateError::Refused`] when there is one of this name; those of the database.
pub async fn create_token(
    conn: &mut PgConnection,
    name: &TokenName,
    role: Role,
    lasts: Option<Duration>,
    by: &Operator,
) -> Result<OperatorToken> {
    let token = OperatorToken::of(rand::random());
    let mut tx = conn.begin().await?;
    if !tokens::insert_token(&mut tx, name.as_str(), role, token.digest().as_bytes(), lasts).await? {
        return Err(OperateError::Refused {
            problem: format!("there is a token {name} already"),
            instead: format!("take another name, or first revoke it: oncehook tokens revoke {name}"),
        });
    }
    let details = serde_json::json!({ "role": role, "seconds": lasts.map(|lasts| lasts.as_secs()) });
    audit::record_audit(&mut tx, by, "token_create", name.as_str(), None, &details).await?;
    tx.commit().await?;
    Ok(token)
}

/// Takes a token back. Whoever is signed in with it is so no more.
///
/// # Errors
/// [`OperateError::NotFound`]; those of the database.
pub async fn revoke_token(conn: &mut PgConnection, name: &TokenName, by: &Operator) -> Result<RevokedToken> {
    let mut tx = conn.begin().await?;
    let Some(sessions) = tokens::delete_token(&mut tx, name.as_str()).await? else {
        return Err(OperateError::NotFound { what: "token", name: name.to_string() });
    };
    let details = serde_json::json!({ "sessions": sessions });
    audit::record_audit(&mut tx, by, "token_revoke", name.as_str(), None, &details).await?;
    tx.commit().await?;
    Ok(RevokedToken { sessions })
}

/// Makes the first token, which may do everything, unless the database has one that is good. Processes that start together
/// make one.
///
/// # Errors
/// Those of the database.
pub async fn make_first_token(conn: &mut PgConnection, by: &Operator) -> Result<Option<OperatorToken>> {
    let token = OperatorToken::of(rand::random());
    let mut tx = conn.begin().await?;
    tokens::delete_expired_token(&mut tx, FIRST_TOKEN).await?;
    let digest = token.digest();
    if !tokens::insert_first_token(&mut tx, FIRST_TOKEN, Role::Operate, digest.as_bytes()).await? {
        return Ok(None);
    }
    let details = serde_json::json!({ "role": Role::Operate, "first": true });
    audit::record_audit(&mut tx, by, "token_create", FIRST_TOKEN, None, &details).await?;
    tx.commit().await?;
    Ok(Some(token))
}
