//! All SQL but the migrations: one file a table, one function a query.
//!
//! A function takes a connection and never begins or commits: the caller owns the transaction. Times that decide
//! anything are the database's (`oncehook.now()`).

pub mod audit;
pub mod boot_check;
pub mod bulks;
pub mod call_off;
pub mod command_status;
pub mod conflict_list;
pub mod connect;
pub mod dead_letter_groups;
pub mod deliveries;
pub mod delivery_list;
pub mod delivery_search;
pub mod delivery_story;
pub mod destination_health;
pub mod doctor_facts;
pub mod effects;
mod error;
pub mod event_feed;
pub mod figure_sums;
pub mod figures;
pub mod instances;
pub mod jobs;
pub mod lane_list;
pub mod lane_pages;
pub mod lanes;
pub mod migrate;
pub mod operator_requests;
pub mod outbox;
pub mod pauses;
pub mod payload_batches;
pub mod pending;
pub mod pool;
pub mod promotions;
pub mod receipt_identities;
pub mod receipt_list;
pub mod receipt_search;
pub mod receipt_story;
mod receipt_walk;
pub mod record_new;
pub mod record_seen_before;
pub mod replays;
pub mod rescue;
pub mod revive;
pub mod sessions;
pub mod source_facts;
pub mod sql_functions;
pub mod tokens;
pub mod turns;
pub mod versions;
pub mod walk;

pub use error::StoreError;

use crate::domain::Purpose;

/// What came back from the database.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A value that stands in a row, read into its type. A row that does not read is a fault of the data, reported as such.
pub(crate) fn read<T>(text: &str) -> Result<T>
where
    T: std::str::FromStr,
    T::Err: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    text.parse().map_err(|refusal: T::Err| sqlx::Error::Decode(refusal.into()).into())
}

/// What a delivery is for, as a column of ours says it; a CHECK holds the words.
pub(crate) fn read_purpose(text: &str) -> Purpose {
    if text == Purpose::Compensate.as_str() { Purpose::Compensate } else { Purpose::Deliver }
}

/// Whether the database answers and can be written. Takes no locks.
///
/// # Errors
/// When it does not, or is a standby.
pub async fn answers(conn: &mut sqlx::PgConnection) -> Result<()> {
    let is_standby = sqlx::query_scalar!(r#"select pg_is_in_recovery() as "is_standby!""#).fetch_one(conn).await?;
    if is_standby {
        return Err(StoreError::Unusable { problem: "the database is a standby and cannot be written".to_owned() });
    }
    Ok(())
}
