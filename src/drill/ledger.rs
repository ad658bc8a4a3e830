//! The transactional sink: a table that an SQL destination fills in the transaction that marks the delivery succeeded.

use anyhow::Context as _;
use sqlx::PgConnection;

/// Whether the load has a route to it.
pub const IS_ROUTED: bool = true;

/// The keys of its destination.
pub const DESTINATION: &str =
    "kind = \"sql\"\nfunction = \"drill.on_event\"\nrole = \"drill_writer\"\nsearch_path = \"drill\"\ntimeout = \"5s\"";

/// Makes the table, the function and the role.
///
/// # Errors
/// Those of the database.
pub async fn make(conn: &mut PgConnection) -> anyhow::Result<()> {
    sqlx::raw_sql(
        "create schema drill;
         create table drill.ledger (
             n bigserial primary key, delivery text, receipt text, delivery_id text, ordering_key text, body_sha256 text,
             at timestamptz not null default clock_timestamp());
         create function drill.on_event(receipt jsonb, payload bytea) returns void language sql as $$
             insert into drill.ledger (delivery, receipt, delivery_id, ordering_key, body_sha256)
             values (receipt->>'delivery', receipt->>'receipt', receipt->>'delivery_id', receipt->>'ordering_key',
                     encode(sha256(payload), 'hex')) $$;
         create role drill_writer;
         grant drill_writer to current_user;
         grant usage on schema drill to drill_writer;
         grant insert on drill.ledger to drill_writer;
         grant usage on sequence drill.ledger_n_seq to drill_writer;
         grant execute on function drill.on_event to drill_writer;",
    )
    .execute(conn)
    .await
    .context("failed to make the ledger")?;
    Ok(())
}
