//! What the tests are written with.

pub mod destination;
