//! What the tests share.

pub mod bench;
pub mod database;
pub mod invariants;
pub mod script;
