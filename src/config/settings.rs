//! The tables of which there is one each: [database], [intake], [record], [run], [shutdown]. It holds their
//! defaults and bounds; config/oncehook.toml tells the reasons, and a test holds the two together.

use std::{net::SocketAddr, time::Duration};

use secrecy::SecretString;

use super::{
    compiled::{Database, Intake, Record, Run, Shutdown},
    reader::Reader,
    secret::Resolver,
    tree::{Place, Value},
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

pub(super) fn database(top: &Reader<'_>, resolver: &Resolver<'_>) -> Database {
    let table = top.table("database");
    let database = Database {
        url: database_url(&table, resolver),
        // Two: one connection records while the other does everything else.
        connections_max: table.integer("connections_max", 16, 2..=1_000),
        acquire_timeout: table.duration("acquire_timeout", 2 * SECOND, ms(100)..=MINUTE),
    };
    table.finish();
    database
}

fn database_url(table: &Reader<'_>, resolver: &Resolver<'_>) -> Option<SecretString> {
    let node = table.node("url")?;
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        _ => resolver.resolve_text(node, &table.path_of("url"))?,
    };
    let url = url::Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
    // The URL is never shown, as it may hold a password.
    let Some(url) = url else {
        let instead = "write postgres://USER:PASSWORD@HOST:5432/DATABASE, or remove it to use the embedded PostgreSQL";
        table.mistake("url", "is not the URL of a PostgreSQL database", instead);
        return None;
    };
    if url.password().is_some() && matches!(node.value, Value::Text(_)) && !matches!(node.place, Place::Variable(_)) {
        table.findings.warn(
            "database.url holds a password in the file: move it to DATABASE_URL, or write url = { file = \"…\" }",
        );
    }
    Some(SecretString::from(text))
}

pub(super) fn intake(top: &Reader<'_>) -> Intake {
    let table = top.table("intake");
    let intake = Intake {
        listen: listen(&table, SocketAddr::from(([0, 0, 0, 0], 8080))),
        threads: table.integer("threads", 2, 1..=256),
        connections_max: table.integer("connections_max", 10_000, 1..=1_000_000),
        in_flight_bytes_max: bytes(&table, "in_flight_bytes_max", 256 * MIB, MIB, 64 * GIB),
        body_timeout: table.duration("body_timeout", 10 * SECOND, ms(100)..=10 * MINUTE),
        body_rate_min: table.size("body_rate_min", KIB, 0..=GIB),
        body_grace: table.duration("body_grace", 2 * SECOND, Duration::ZERO..=10 * MINUTE),
        header_bytes_max: bytes(&table, "header_bytes_max", 64 * KIB, 4 * KIB, MIB),
        record_timeout: table.duration("record_timeout", 8 * SECOND, ms(100)..=MINUTE),
    };
    table.finish();
    intake
}

pub(super) fn record(top: &Reader<'_>) -> Record {
    let table = top.table("record");
    let record = Record {
        batch_rows_max: table.integer("batch_rows_max", 256, 1..=10_000),
        batch_bytes_max: bytes(&table, "batch_bytes_max", 16 * MIB, 64 * KIB, GIB),
        queue_max: table.integer("queue_max", 4_096, 1..=1_000_000),
        arrivals_kept: table.integer("arrivals_kept", 100, 1..=100_000),
    };
    table.finish();
    record
}

pub(super) fn run(top: &Reader<'_>) -> Run {
    let table = top.table("run");
    let run = Run {
        concurrency: table.integer("concurrency", 16, 1..=1_000),
        lease: table.duration("lease", 15 * SECOND, ms(100)..=10 * MINUTE),
        heartbeat: table.duration("heartbeat", 5 * SECOND, ms(10)..=5 * MINUTE),
        lane_budget: table.integer("lane_budget", 100, 1..=100_000),
        lane_budget_time: table.duration("lane_budget_time", 5 * SECOND, ms(100)..=10 * MINUTE),
        poll: table.duration("poll", ms(250), ms(10)..=MINUTE),
        rescue: table.duration("rescue", 5 * SECOND, ms(100)..=30 * SECOND),
        crashes_max: table.integer("crashes_max", 3, 1..=100),
    };
    // The lease is renewed at each heartbeat, so it may be shorter than a destination's timeout; one late heartbeat must not lose it.
    if run.heartbeat * 2 >= run.lease {
        let key = if table.has("heartbeat") || !table.has("lease") { "heartbeat" } else { "lease" };
        table.mistake(
            key,
            "leaves no room for a late heartbeat: the lease would run out while its worker is alive, and the delivery would run twice",
            "make run.heartbeat less than half of run.lease, such as heartbeat = \"5s\" and lease = \"15s\"",
        );
    }
    table.finish();
    run
}

pub(super) fn shutdown(top: &Reader<'_>) -> Shutdown {
    let table = top.table("shutdown");
    let shutdown = Shutdown { grace: table.duration("grace", 25 * SECOND, Duration::ZERO..=HOUR) };
    table.finish();
    shutdown
}

/// Reads a size that must fit into memory.
pub(super) fn bytes(table: &Reader<'_>, key: &'static str, default: u64, low: u64, high: u64) -> usize {
    usize::try_from(table.size(key, default, low..=high)).unwrap_or(usize::MAX)
}

pub(super) fn listen(table: &Reader<'_>, default: SocketAddr) -> SocketAddr {
    let example = default.to_string();
    let Some(text) = table.text("listen", &example) else { return default };
    text.parse().unwrap_or_else(|_| {
        let instead = format!("write an IP address and a port, such as \"{example}\" or \"[::]:{}\"", default.port());
        table.mistake("listen", format!("is {text:?}, which is not an address to listen on"), instead);
        default
    })
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
