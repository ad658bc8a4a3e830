//! The kinds of destination, each with its settings after every check has passed.

use std::time::Duration;

use super::command::CommandDestination;
use crate::domain::Secret;

/// The kinds of destination.
#[derive(Debug, Clone)]
pub enum DestinationKind {
    /// Writes one line to Oncehook's own log: for trying out, needs nothing else.
    Log,
    /// Posts to a service.
    Http(HttpDestination),
    /// Runs a program of this machine. Only with `allow_commands = true`.
    Command(CommandDestination),
    /// Calls a function in Oncehook's own database, in the transaction that settles the delivery.
    Sql(SqlDestination),
    /// Calls a Rust handler of the program that embeds Oncehook, in the transaction that settles the delivery.
    Handler(HandlerDestination),
}

/// An HTTP service.
#[derive(Debug, Clone)]
pub struct HttpDestination {
    /// Where to post.
    pub url: url::Url,
    /// Time to connect.
    pub connect_timeout: Duration,
    /// Time from the last byte sent to the first byte of the answer.
    pub first_byte_timeout: Duration,
    /// Time for all of an attempt.
    pub timeout: Duration,
    /// Signs what is sent (Standard Webhooks), where set. The key is decoded.
    pub secret: Option<Secret>,
    /// Statuses that are tried again although the table of outcomes calls them dead.
    pub retry_statuses: Vec<u16>,
}

/// A function in Oncehook's own database. Names are as the catalogue has them.
#[derive(Debug, Clone)]
pub struct SqlDestination {
    /// The function's schema.
    pub schema: String,
    /// The function: `(receipt jsonb, payload jsonb)`, `(receipt jsonb, payload bytea)`, or both.
    pub function: String,
    /// The role that it runs as.
    pub role: String,
    /// The schemas that it finds things in.
    pub search_path: Vec<String>,
    /// Time for one call.
    pub timeout: Duration,
}

/// A Rust handler, registered under the destination's name.
#[derive(Debug, Clone)]
pub struct HandlerDestination {
    /// Time for one call.
    pub timeout: Duration,
}
