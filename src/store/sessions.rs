//! `oncehook.operator_sessions`: who is signed in to the pages, by the digests of their cookies. All times are the
//! database's. Never sees a cookie itself.

use std::time::Duration;

use sqlx::PgConnection;

use super::{
    Result,
    tokens::{Holder, role_of},
};

/// Whose a session is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// The holder's of a token in the database, as it is now.
    Stored(Holder),
    /// The holder's of a token in the configuration. Whoever asks looks whether it is still there.
    Configured {
        /// The token's name.
        name: String,
        /// Which secret it had.
        fingerprint: String,
    },
}

/// A session that is neither idle nor over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    /// Whose it is.
    pub whose: Whose,
    /// Whether its last sign of life is so long ago that the next is worth a write.
    pub is_due: bool,
}

/// Begins a session. False when its token went away meanwhile.
///
/// # Errors
/// Those of the database.
pub async fn insert_session(conn: &mut PgConnection, digest: &[u8], whose: &Whose, lasts: Duration) -> Result<bool> {
    let (stored, configured, fingerprint) = match whose {
        Whose::Stored(holder) => (Some(holder.name.as_str()), None, None),
        Whose::Configured { name, fingerprint } => (None, Some(name.as_str()), Some(fingerprint.as_str())),
    };
    let done = sqlx::query!(
        "insert into oncehook.operator_sessions (digest, stored_token, configured_token, fingerprint, expires_at)
         select $1, $2, $3, $4, oncehook.now() + make_interval(secs => $5)
         where $2::text is null or exists (select from oncehook.operator_tokens where name = $2)",
        digest,
        stored,
        configured,
        fingerprint,
        lasts.as_secs_f64(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The session with this digest, unless it is over, was idle for longer than `idle`, or its token is gone. Takes no locks.
///
/// # Errors
/// Those of the database.
pub async fn find_session(conn: &mut PgConnection, digest: &[u8], idle: Duration) -> Result<Option<FoundSession>> {
    let row = sqlx::query!(
        r#"select s.configured_token, s.fingerprint, t.name as "name?", t.role as "role?",
                  s.seen_at <= oncehook.now() - make_interval(secs => $2) / 10 as "is_due!"
           from oncehook.operator_sessions s
           left join oncehook.operator_tokens t
                  on t.name = s.stored_token and (t.expires_at is null or t.expires_at > oncehook.now())
           where s.digest = $1 and s.expires_at > oncehook.now() and s.seen_at > oncehook.now() - make_interval(secs => $2)"#,
        digest,
        idle.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await?;
    let found = row.and_then(|row| {
        let whose = match (row.name, row.role, row.configured_token, row.fingerprint) {
            (Some(name), Some(role), ..) => Whose::Stored(Holder { name, role: role_of(&role) }),
            (_, _, Some(name), Some(fingerprint)) => Whose::Configured { name, fingerprint },
            _ => return None,
        };
        Some(FoundSession { whose, is_due: row.is_due })
    });
    Ok(found)
}

/// Notes a sign of life. Locks the session's row.
///
/// # Errors
/// Those of the database.
pub async fn touch_session(conn: &mut PgConnection, digest: &[u8]) -> Result<()> {
    sqlx::query!("update oncehook.operator_sessions set seen_at = oncehook.now() where digest = $1", digest)
        .execute(conn)
        .await?;
    Ok(())
}

/// Ends a session. False when there is none.
///
/// # Errors
/// Those of the database.
pub async fn delete_session(conn: &mut PgConnection, digest: &[u8]) -> Result<bool> {
    let done = sqlx::query!("delete from oncehook.operator_sessions where digest = $1", digest).execute(conn).await?;
    Ok(done.rows_affected() == 1)
}

/// Removes sessions that are over or idle, and of each token all but its `kept` youngest. Locks those rows.
///
/// # Errors
/// Those of the database.
pub async fn prune_sessions(conn: &mut PgConnection, idle: Duration, kept: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from oncehook.operator_sessions
         where expires_at <= oncehook.now() or seen_at <= oncehook.now() - make_interval(secs => $1)
            or digest in (select digest from (
                   select digest, row_number() over (partition by stored_token, configured_token order by created_at desc)
                   from oncehook.operator_sessions) as aged where row_number > $2)",
        idle.as_secs_f64(),
        kept,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
