//! The integration tests: one crate, one module a promise.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

mod lanes;
mod plans;
mod pool;
mod rescue;
mod retries;
mod support;
mod workers;
