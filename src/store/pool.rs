//! What every pool of connections must do before it hands a connection to the next user. Opens no connection itself.

use sqlx::{Row as _, postgres::PgPoolOptions};

/// Keeps connections out of the pool that were left inside a transaction; use it for every pool.
///
/// sqlx 0.9.0 leaves one so when a future is dropped while it waits in `begin()`: the server has begun, sqlx does not
/// know, and whatever the next user writes "in autocommit" is not committed until somebody else commits by accident. apalis
/// drops such futures when a worker stops, and actix does when a client goes away.
#[must_use]
pub fn guarded(options: PgPoolOptions) -> PgPoolOptions {
    options.after_release(|conn, _| {
        Box::pin(async move {
            // The simple protocol, since there a statement outside a transaction begins one at its own very time. Not
            // oncehook.now(): this is about the session and no time that anything is kept by.
            let row = sqlx::raw_sql("select transaction_timestamp() = statement_timestamp()").fetch_one(conn).await?;
            row.try_get(0)
        })
    })
}
