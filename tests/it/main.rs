//! Oncehook's integration tests: one module a promise.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod delivery;
mod support;
