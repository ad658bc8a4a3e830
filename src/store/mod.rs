//! All SQL of Oncehook. One file a table, one function a query; each takes `&mut PgConnection`, so that the caller owns
//! the transaction, and says which locks it takes.

pub mod boot_check;
pub mod connect;
mod error;
pub mod migrate;

pub use error::StoreError;
