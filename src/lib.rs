//! Oncehook: webhooks, once and in order.
//!
//! The path of an event, one module a step:
//! intake → verify → identify (`provider`) → record → run → deliver → settle (`run`).

pub mod cli;
pub mod clock;
pub mod config;
mod crash_point;
pub mod deliver;
pub mod domain;
pub mod fixture;
pub mod provider;
pub mod record;
pub mod route;
pub mod run;
pub mod store;
pub mod verify;
