//! The integration tests: one crate, one module a promise.

mod lanes;
mod plans;
mod rescue;
mod retries;
mod support;
mod workers;
