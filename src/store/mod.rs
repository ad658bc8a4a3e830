//! All SQL, one file a table or a step of the path. The caller owns the transaction.

pub mod delivery_list;
pub mod delivery_story;
pub mod receipt_list;
pub mod receipt_story;
pub mod record_new;
pub mod record_seen_before;

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct StoreError(#[from] sqlx::Error);
impl StoreError {
    pub fn is_outcome_unknown(&self) -> bool {
        false
    }
    pub fn is_database_away(&self) -> bool {
        false
    }
}

/// What a query came to.
pub type Result<T> = std::result::Result<T, sqlx::Error>;
