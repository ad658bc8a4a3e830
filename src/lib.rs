//! Oncehook: webhooks, once and in order.
//!
//! The path of an event, one module a step:
//! intake → verify → identify (`provider`) → record → run → deliver → settle (`run`).

pub mod clock;
pub mod config;
pub mod domain;
pub mod postgres;
pub mod provider;
pub mod store;
pub mod verify;
