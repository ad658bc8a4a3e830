//! Oncehook: webhooks, once and in order.
//!
//! A webhook receiver that stands between providers and your own services. The `oncehook` program is what is meant to be
//! used; this library is the same code, for its tests and for reading. Its interface may change with any version.
//!
//! # The path of an event
//!
//! | step | where | what it does |
//! |---|---|---|
//! | intake | [`intake`] | finds the source, reads the body as it comes, within limits; the main path is there from end to end |
//! | verify | [`verify`] | tells whether the sender holds the secret; pure |
//! | identify | [`provider`] | finds delivery id, event type, ordering key and event time; pure |
//! | route | [`route`] | says which deliveries the event needs; pure |
//! | record | [`record`] | commits the receipt with its deliveries, many in one transaction; the answer comes after |
//! | run | [`run`] | works off each lane in order: claims a delivery, opens an attempt |
//! | deliver | [`deliver`] | makes the attempt at the destination, once |
//! | settle | [`run`] | writes what came of it, and decides on a retry ([`run::retry`]) or a dead letter |
//!
//! # Beside the path
//!
//! [`domain`] has the nouns, [`config`] reads what an operator wrote, [`blueprint`] is that made ready, [`store`] has all SQL,
//! [`postgres`] runs the embedded database, [`admin`] is the operator's port, [`cli`] the command line. [`app`] puts
//! everything together.

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
pub mod drill;
pub mod figures;
pub mod fixture;
pub mod handler;
pub mod health;
pub mod intake;
pub mod operate;
pub mod postgres;
pub mod provider;
pub mod record;
pub mod route;
pub mod run;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod shutdown;
pub mod store;
pub mod telemetry;
pub mod verify;
