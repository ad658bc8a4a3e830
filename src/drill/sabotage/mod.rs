//! What the negative controls do to the drill's own database: safeties that are SQL are switched off there.
//!
//! Each statement fails where the thing that it takes away is not what it was, so that no control becomes harmless unnoticed.

use anyhow::Context as _;
use sqlx::{Connection as _, PgConnection};

use crate::sabotage::Sabotage;

/// What is run in the database, one statement after another.
fn statements(control: Sabotage) -> &'static [&'static str] {
    match control {
        // What is not written within these is lost by an immediate stop: make that much, so that the loss shows.
        Sabotage::AsynchronousCommit => &[
            "alter system set wal_writer_delay = '10s'",
            "alter system set wal_writer_flush_after = '1GB'",
            "alter system set wal_buffers = '64MB'",
            "select pg_reload_conf()",
        ],
        Sabotage::CheckThenInsert => &[include_str!("check_then_insert.sql")],
        Sabotage::NoFencing => &[include_str!("no_fencing.sql")],
        Sabotage::LargerClaimBatches => &[include_str!("larger_claim_batches.sql")],
        // These are in the processes alone.
        Sabotage::AnswerBeforeCommit | Sabotage::MarkBeforeEffect => &[],
    }
}

/// Switches the safety off in this database, which has the newest schema and nobody in it yet.
///
/// # Errors
/// When the database refuses, or the safety is not there as it was.
pub async fn apply(control: Sabotage, database_url: &str) -> anyhow::Result<()> {
    let mut connection =
        PgConnection::connect(database_url).await.context("failed to connect to the drill's database")?;
    for &statement in statements(control) {
        let done = sqlx::raw_sql(statement).execute(&mut connection).await;
        done.with_context(|| format!("failed to switch off what {} takes away", control.name()))?;
    }
    connection.close().await.context("failed to leave the drill's database")
}
