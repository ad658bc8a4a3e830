//! What the tests are written with.

pub mod api;
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
pub mod own_cluster;
pub mod parcel;
pub mod process;
pub mod recorders;
pub mod scene;
pub mod schema;
pub mod script;
pub mod sender;
pub mod until;
pub mod visitor;
pub mod wire;
