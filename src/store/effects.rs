//! Effects inside of a transaction: its limits, its tidying up, its end by force. What the effect itself is, `deliver` knows.
//!
//! Nothing here locks a row of ours: the delivery is fenced by its settlement, at the end of the same transaction.

use std::time::Duration;

use sqlx::PgConnection;

use super::{Result, deliveries::Lease};

/// How a transaction begins that an effect and its settlement share. What settles it needs a fresh snapshot for each
/// statement, whatever the database's default is.
pub const BEGIN: &str = "begin isolation level read committed read write";

/// What one effect may take. Both hold for the transaction only.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// One statement. It bounds waits for locks too.
    pub statement: Duration,
    /// The pause between two statements: a process that was stopped in the middle loses its session, and with that the
    /// locks that its effect has taken.
    pub idle: Duration,
}

/// Sets the limits, and gives the number of the session, by which [`end_session`] can end it.
///
/// `None`: the lease is lost, and the effect would only be undone. That is an economy; what fences it is its settlement. Locks nothing.
///
/// # Errors
/// Those of the database.
pub async fn begin(conn: &mut PgConnection, held: &Lease, limits: Limits) -> Result<Option<i32>> {
    // On Linux the server can also notice in the middle of a statement that its client is gone; elsewhere it may refuse that.
    let row = sqlx::query!(
        r#"select pg_backend_pid() as "session!", set_config('statement_timeout', $1, true) as statement,
                  set_config('lock_timeout', '0', true) as lock,
                  set_config('idle_in_transaction_session_timeout', $2, true) as idle,
                  case when version() like '%linux%'
                       then set_config('client_connection_check_interval', '2s', true) end as look,
                  exists (select from oncehook.deliveries
                          where id = $3 and state = 'running' and attempts = $4 and leased_by = $5) as "is_held!""#,
        milliseconds(limits.statement),
        milliseconds(limits.idle),
        held.delivery.uuid(),
        held.token,
        held.worker,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.is_held.then_some(row.session))
}

/// Has deferred constraints checked now, while the effect can still be undone alone, and as the role that runs it.
/// Locks what they look at.
///
/// # Errors
/// The constraint's, among those of the database.
pub async fn check_constraints(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("set constraints all immediate").execute(conn).await.map(drop)
}

/// Gives the session back as it was, whatever an effect did to it: role, settings, temporary tables, session locks.
///
/// It all goes with the transaction, so that nothing of one effect is there when the next begins. `idle` bounds the rest of
/// the transaction, since the limits of [`begin`] are gone too: a process that is stopped there holds the delivery's row.
///
/// # Errors
/// Those of the database.
pub async fn tidy_session(conn: &mut PgConnection, idle: Duration) -> Result<()> {
    let statements = format!(
        "reset session authorization; reset role; reset all;
         set local idle_in_transaction_session_timeout = {}; discard temp; select pg_advisory_unlock_all()",
        milliseconds(idle)
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(conn).await?;
    Ok(())
}

/// Ends a session of this same role, and with that its transaction: nothing of it is stored. The number must be of a
/// connection that the caller still holds, since the server gives numbers out again.
///
/// # Errors
/// Those of the database.
pub async fn end_session(conn: &mut PgConnection, session: i32) -> Result<()> {
    sqlx::query!("select pg_terminate_backend($1)", session).fetch_one(conn).await?;
    Ok(())
}

/// As a setting takes it. 0 would mean "no limit".
pub(super) fn milliseconds(limit: Duration) -> String {
    limit.as_millis().clamp(1, i32::MAX as u128).to_string()
}
