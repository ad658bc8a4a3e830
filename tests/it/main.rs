//! The integration tests: one crate, one module a promise. Each runs against a real PostgreSQL, over real HTTP.

#![expect(clippy::unwrap_used, reason = "in a test an error is a failure, and its message is what one wants to see")]
#![expect(clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod api_sources;
mod auditing;
mod bulk;
mod cli;
mod command_deliveries;
mod commands;
mod compensation;
mod conflict_lists;
mod conflicts;
mod connections;
mod crash;
mod dead_letters;
mod dedupe;
mod delivery;
mod delivery_lists;
mod delivery_request;
mod drill;
mod drill_checker;
mod embed;
mod event_order;
mod freshness;
mod handlers;
mod holding;
mod hostile_bodies;
mod lane_policy;
mod lanes;
mod limits;
mod list_plans;
mod migrations;
mod mutation_races;
mod mutations;
mod ordering_versions;
mod outbox;
mod paces;
mod pausing;
mod plans;
mod pool;
mod postgres;
mod promoting;
mod receipt_lists;
mod receipt_search;
mod record_faults;
mod record_plans;
mod record_races;
mod recording;
mod replay_guard;
mod replaying;
mod rescue;
mod retries;
mod revival;
#[cfg(feature = "sabotage")]
mod sabotage;
mod secrets;
mod sql_destination;
mod support;
mod tidy;
mod verification;
mod within;
mod workers;
