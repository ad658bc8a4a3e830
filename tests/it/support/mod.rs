//! What the tests are written with.

pub mod app;
pub mod bench;
pub mod cluster;
pub mod database;
pub mod destination;
pub mod invariants;
mod keeper;
pub mod own_cluster;
pub mod parcel;
pub mod process;
pub mod recorders;
pub mod script;
pub mod sender;
pub mod until;
pub mod wire;
