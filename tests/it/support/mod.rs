//! What the tests are written with.

pub mod app;
pub mod bench;
pub mod caller;
mod clock;
pub mod cluster;
pub mod connection;
pub mod database;
pub mod desk;
pub mod destination;
pub mod evidence;
pub mod invariants;
mod keeper;
pub mod ledger;
pub mod lifeline;
pub mod log;
pub mod many;
pub mod own_cluster;
pub mod parcel;
pub mod process;
pub mod recorders;
pub mod script;
pub mod sender;
pub mod until;
pub mod wire;
