//! All SQL but the migrations: one file a table, one function a query.
//!
//! A function takes a connection and never begins or commits: the caller owns the transaction. Times that decide
//! anything are the database's (`oncehook.now()`).

pub mod deliveries;
pub mod instances;
pub mod jobs;
pub mod lanes;
pub mod pool;
pub mod rescue;
pub mod turns;

/// What came back from the database.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The database refused, or was not there.
#[derive(Debug, thiserror::Error)]
#[error("the database: {0}")]
pub struct StoreError(#[from] sqlx::Error);

/// A value that stands in a row, read into its type. A row that does not read is a fault of the data, reported as such.
pub(crate) fn read<T>(text: &str) -> Result<T>
where
    T: std::str::FromStr,
    T::Err: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    text.parse().map_err(|refusal: T::Err| sqlx::Error::Decode(refusal.into()).into())
}
