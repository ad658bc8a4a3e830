//! What the tests are written with.

pub mod destination;
//! What the tests stand on.

pub mod cluster;
mod keeper;
pub mod own_cluster;
