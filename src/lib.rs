//! Oncehook: webhooks, once and in order.
//!
//! The path of an event, one module a step:
//! intake → verify → identify (`provider`) → record → run → deliver → settle (`run`).

pub mod admin;
pub mod app;
pub mod blueprint;
pub mod cli;
pub mod clock;
pub mod config;
mod crash_point;
pub mod database;
pub mod deliver;
pub mod domain;
pub mod fixture;
pub mod health;
pub mod intake;
pub mod postgres;
pub mod provider;
pub mod record;
pub mod route;
pub mod run;
pub mod shutdown;
pub mod store;
pub mod telemetry;
pub mod verify;
