//! What the tests are written with.

pub mod app;
pub mod cluster;
pub mod destination;
mod keeper;
pub mod own_cluster;
pub mod sender;
