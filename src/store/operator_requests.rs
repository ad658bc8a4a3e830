//! Orders of operators by their `Idempotency-Key`: which have begun, and what they were answered. Each function is one
//! statement, to be committed at once.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use super::Result;
use crate::domain::Digest;

/// Seconds after which an order without an answer counts as that of a dead process. Whoever lives gives up before.
pub const TAKEN_OVER_AFTER_SECONDS: f64 = 60.0;

/// Rows that are pruned at a time: about as many as come in between, and a short statement.
const PRUNED_MAX: i64 = 50;

/// Whose order, and which.
#[derive(Debug, Clone, Copy)]
pub struct RequestKey<'a> {
    /// The operator's name.
    pub operator: &'a str,
    /// Their key for it.
    pub key: &'a str,
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// It is to be carried out, under this fencing token.
    Now(DateTime<Utc>),
    /// It was carried out, and answered so.
    Before {
        /// The HTTP status.
        status: i32,
        /// The body.
        answer: Value,
    },
    /// It is being carried out; if by a dead process, it can be taken over in so many seconds.
    StillRunning(f64),
    /// The key came before with another request.
    Other,
}

/// Begins an order, or tells what is known of it. One that has no answer after [`TAKEN_OVER_AFTER_SECONDS`] is begun anew.
/// Locks the key's row.
///
/// # Errors
/// When the database cannot be asked.
pub async fn begin_request(conn: &mut PgConnection, key: RequestKey<'_>, digest: Digest) -> Result<Begun> {
    let began = sqlx::query_scalar!(
        "insert into oncehook.operator_requests as r (operator, key, request_digest) values ($1, $2, $3)
         on conflict (operator, key) do update set began_at = oncehook.now()
         where r.request_digest = excluded.request_digest and r.status is null
           and r.began_at < oncehook.now() - make_interval(secs => $4)
         returning began_at",
        key.operator,
        key.key,
        digest.as_bytes().as_slice(),
        TAKEN_OVER_AFTER_SECONDS,
    )
    .fetch_optional(&mut *conn)
    .await?;
    match began {
        Some(began_at) => Ok(Begun::Now(began_at)),
        None => known_request(conn, key, digest).await,
    }
}

/// Takes no locks.
async fn known_request(conn: &mut PgConnection, key: RequestKey<'_>, digest: Digest) -> Result<Begun> {
    let row = sqlx::query!(
        r#"select request_digest, status, answer,
                  extract(epoch from began_at + make_interval(secs => $3) - oncehook.now())::float8 as "seconds_left!"
           from oncehook.operator_requests where operator = $1 and key = $2"#,
        key.operator,
        key.key,
        TAKEN_OVER_AFTER_SECONDS,
    )
    .fetch_optional(conn)
    .await?;
    Ok(match row {
        Some(row) if row.request_digest != digest.as_bytes() => Begun::Other,
        Some(row) => match (row.status, row.answer) {
            (Some(status), Some(answer)) => Begun::Before { status, answer },
            _ => Begun::StillRunning(row.seconds_left),
        },
        // It was given back, or pruned, between the two statements.
        None => Begun::StillRunning(1.0),
    })
}

/// Keeps the answer to an order that was begun under this token. Nothing, if somebody has taken it over. Locks the key's row.
///
/// # Errors
/// When the database cannot be asked.
pub async fn answer_request(
    conn: &mut PgConnection,
    key: RequestKey<'_>,
    token: DateTime<Utc>,
    status: i32,
    answer: &Value,
) -> Result<()> {
    // As text: a value would go over the wire as jsonb, which sorts the members anew.
    sqlx::query!(
        "update oncehook.operator_requests set status = $4, answer = $5::text::json
         where operator = $1 and key = $2 and began_at = $3 and status is null",
        key.operator,
        key.key,
        token,
        status,
        answer.to_string(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives a key back whose order did nothing, so that it can be sent again, or corrected. Locks the key's row.
///
/// # Errors
/// When the database cannot be asked.
pub async fn give_request_back(conn: &mut PgConnection, key: RequestKey<'_>, token: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "delete from oncehook.operator_requests where operator = $1 and key = $2 and began_at = $3 and status is null",
        key.operator,
        key.key,
        token,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Forgets some orders that are older than a day. Locks the rows that it deletes, and passes over those that others have
/// locked.
///
/// # Errors
/// When the database cannot be asked.
pub async fn prune_requests(conn: &mut PgConnection) -> Result<u64> {
    let done = sqlx::query!(
        "delete from oncehook.operator_requests r
         using (select operator, key from oncehook.operator_requests
                where began_at < oncehook.now() - interval '24 hours'
                order by began_at limit $1 for update skip locked) old
         where r.operator = old.operator and r.key = old.key",
        PRUNED_MAX,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}
