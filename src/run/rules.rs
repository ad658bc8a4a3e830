//! What routes and destinations ask for beyond the common case: limits, what becomes of stale deliveries, and what a dead
//! one leaves behind. Takes the configuration; pure but for the ids it allots.

use serde_json::{Map, Value, json};

use crate::{
    config::{Config, OnDead, OnStale, Order, Route},
    domain::{DeliveryRef, JobId, Purpose, RouteName},
    store::deliveries::{Compensation, LastWords},
};

/// The rules as `oncehook.next_turn` reads them.
///
/// They hold what deviates and nothing else, since they go with each turn:
/// `{"destinations": {NAME: {"concurrency": 4, "every": 0.02}}, "routes": {NAME: {"concurrency": 8, "skip_stale": true}}}`,
/// where `every` is in seconds.
#[must_use]
pub fn rules_of(config: &Config) -> Value {
    let destinations = config.destinations.iter().filter_map(|(name, destination)| {
        let mut rule = Map::new();
        rule.extend(destination.concurrency.map(|most| ("concurrency".to_owned(), json!(most))));
        rule.extend(destination.pace.map(|pace| ("every".to_owned(), json!(pace.as_secs_f64()))));
        (!rule.is_empty()).then(|| (name.to_string(), Value::Object(rule)))
    });
    let routes = config.routes.iter().filter_map(|route| {
        let mut rule = Map::new();
        rule.extend(route.concurrency.map(|most| ("concurrency".to_owned(), json!(most))));
        if route.order == Order::Event && route.on_stale == OnStale::Skip {
            rule.insert("skip_stale".to_owned(), json!(true));
        }
        (!rule.is_empty()).then(|| (route.name.to_string(), Value::Object(rule)))
    });
    json!({ "destinations": destinations.collect::<Map<_, _>>(), "routes": routes.collect::<Map<_, _>>() })
}

/// What a delivery of `route` leaves behind if it dies now. A route that the configuration has no more leaves nothing.
#[must_use]
pub fn last_words(config: &Config, route: &RouteName, purpose: Purpose) -> LastWords {
    let route = config.routes.iter().find(|rule| rule.name == *route).filter(|_| purpose == Purpose::Deliver);
    let blocks = |route: &Route| route.on_dead == OnDead::Block && route.order != Order::None;
    LastWords {
        blocks: route.is_some_and(blocks),
        compensation: route.and_then(|route| route.on_dead_destination.clone()).map(|destination| Compensation {
            delivery: DeliveryRef::new(),
            destination,
            job: JobId::new(),
        }),
    }
}
