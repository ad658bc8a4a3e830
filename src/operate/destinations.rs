//! Destinations and routes: how they are set up, and how they do.

use chrono::{DateTime, Utc};

use super::{Desk, Pausable, Paused, Result};
use crate::{
    config::{Config, DestinationKind, KeyFrom, OnDead, Order, Route},
    domain::DestinationName,
    store::{
        destination_health::{HealthRow, list_health},
        pending::{pending_of_routes, pending_to_destination},
    },
};

/// Deliveries are counted up to here.
const COUNTED_MAX: i64 = 10_000;

/// So many attempts that failed one after the other are no accident.
const OPEN_AFTER: i64 = 5;

/// Whether attempts reach a destination. (The breaker that holds attempts back comes with issue 6: until then it is only what
/// the last attempts say.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Breaker {
    /// The last attempt succeeded, or there was none.
    Closed,
    /// The last attempts, 5 or more of them, failed one after the other.
    Open,
}

/// One destination.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct DestinationLine {
    /// Its name.
    pub destination: String,
    /// http, sql, command, handler, log, …
    pub kind: String,
    /// Where that is, without secrets: a URL's host without its path, a function's name, a program.
    pub place: String,
    /// Routes that lead there.
    pub routes: Vec<String>,
    /// Its pause.
    pub paused: Option<Paused>,
    /// Whether attempts reach it.
    pub breaker: Breaker,
    /// When an attempt last succeeded.
    pub last_success_at: Option<DateTime<Utc>>,
    /// When an attempt last did not.
    pub last_failure_at: Option<DateTime<Utc>>,
    /// How that ended.
    pub last_failure: Option<String>,
    /// Unfinished deliveries, counted up to 10,000.
    pub unfinished: i64,
    /// Dead letters, counted up to 10,000.
    pub dead: i64,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct RouteLine {
    /// Its name.
    pub route: String,
    /// Whose events.
    pub source: String,
    /// Which event types.
    pub events: Vec<String>,
    /// Which of those.
    pub filter: Option<String>,
    /// arrival, event, none.
    pub order: String,
    /// Where its ordering keys come from.
    pub ordering_key: String,
    /// Where its deliveries go.
    pub destination: String,
    /// continue, block.
    pub on_dead: String,
    /// Its pause.
    pub paused: Option<Paused>,
    /// Unfinished deliveries, counted up to 10,000.
    pub unfinished: i64,
    /// Dead letters, counted up to 10,000.
    pub dead: i64,
}

impl Desk {
    /// All destinations of the configuration, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn destinations(&self) -> Result<Vec<DestinationLine>> {
        let config = self.live.load().config.clone();
        let pauses = self.pauses().await?;
        let mut conn = self.pool.acquire().await?;
        let health = list_health(&mut conn).await?;
        let mut lines = Vec::with_capacity(config.destinations.len());
        for destination in config.destinations.values() {
            let name = destination.name.as_str();
            let leading: Vec<String> = routes_to(&config, &destination.name).collect();
            let pending = pending_to_destination(&mut conn, name, &leading, COUNTED_MAX).await?;
            let its = health.iter().find(|row| row.destination == name);
            lines.push(DestinationLine {
                destination: name.to_owned(),
                kind: kind_of(&destination.kind).to_owned(),
                place: place_of(&destination.kind),
                routes: leading,
                paused: pause_of(&pauses, Pausable::Destination, name),
                breaker: its.map_or(Breaker::Closed, Breaker::of),
                last_success_at: its.and_then(|row| row.last_success_at),
                last_failure_at: its.and_then(|row| row.last_failure_at),
                last_failure: its.and_then(|row| row.last_failure.clone()),
                unfinished: pending.unfinished,
                dead: pending.dead,
            });
        }
        Ok(lines)
    }

    /// All routes of the configuration, as written.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn routes(&self) -> Result<Vec<RouteLine>> {
        let config = self.live.load().config.clone();
        let pauses = self.pauses().await?;
        let names: Vec<String> = config.routes.iter().map(|route| route.name.to_string()).collect();
        let pending = pending_of_routes(&mut *self.pool.acquire().await?, &names, COUNTED_MAX).await?;
        let lines = config.routes.iter().zip(pending).map(|(route, pending)| RouteLine {
            route: route.name.to_string(),
            source: route.source.to_string(),
            events: route.events.clone(),
            filter: route.filter.clone(),
            order: in_word(route.order).to_owned(),
            ordering_key: match &route.ordering_key {
                KeyFrom::Auto => "the provider's table".to_owned(),
                KeyFrom::Pointer(pointer) => format!("payload at {pointer}"),
                KeyFrom::Expression(expression) => expression.clone(),
            },
            destination: route.destination.to_string(),
            on_dead: if route.on_dead == OnDead::Block { "block" } else { "continue" }.to_owned(),
            paused: pause_of(&pauses, Pausable::Route, route.name.as_str()),
            unfinished: pending.unfinished,
            dead: pending.dead,
        });
        Ok(lines.collect())
    }
}

pub(super) fn pause_of(pauses: &[Paused], kind: Pausable, name: &str) -> Option<Paused> {
    pauses.iter().find(|pause| pause.kind == kind && pause.name == name).cloned()
}

impl Breaker {
    fn of(row: &HealthRow) -> Self {
        if row.failures_in_a_row >= OPEN_AFTER { Self::Open } else { Self::Closed }
    }
}

/// The routes whose deliveries, or whose compensations, go there.
fn routes_to(config: &Config, destination: &DestinationName) -> impl Iterator<Item = String> {
    let leads =
        |route: &&Route| route.destination == *destination || route.on_dead_destination.as_ref() == Some(destination);
    config.routes.iter().filter(leads).map(|route| route.name.to_string())
}

fn in_word(order: Order) -> &'static str {
    match order {
        Order::Arrival => "arrival",
        Order::Event => "event",
        Order::None => "none",
    }
}

fn kind_of(kind: &DestinationKind) -> &'static str {
    match kind {
        DestinationKind::Http(_) => "http",
        DestinationKind::Sql(_) => "sql",
        DestinationKind::Command(_) => "command",
        DestinationKind::Handler(_) => "handler",
        DestinationKind::Log => "log",
    }
}

/// Paths, queries and arguments may hold tokens: `/services/T0/B0/…` of a chat is one as a whole. They are not shown.
fn place_of(kind: &DestinationKind) -> String {
    match kind {
        DestinationKind::Http(http) => {
            let path = if http.url.path() == "/" && http.url.query().is_none() { "/" } else { "/…" };
            http.url.origin().ascii_serialization() + path
        }
        DestinationKind::Sql(sql) => format!("{}.{}", sql.schema, sql.function),
        DestinationKind::Command(command) => command.program.display().to_string(),
        DestinationKind::Handler(_) => "a Rust handler of its name".to_owned(),
        DestinationKind::Log => "the log".to_owned(),
    }
}
