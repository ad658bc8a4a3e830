//! Oncehook's integration tests: one module a promise.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod delivery;
//! The integration tests: one crate, one module a promise. Each runs against a real PostgreSQL.

#![expect(clippy::unwrap_used, reason = "in a test an error is a failure, and its message is what one wants to see")]

mod migrations;
mod postgres;
mod support;
