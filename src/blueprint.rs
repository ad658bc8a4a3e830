//! The configuration made ready for use: routes compiled, destinations built. One value, swapped as a whole on reload.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::{
    clock::Clock,
    config::{Config, Source},
    deliver::{DestinationError, Destinations},
    domain::{RouteName, SourceName},
    provider::Identity,
    route::{Event, Plan, RouteError, Routes},
    run::rules_of,
};

/// Why a configuration cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum BlueprintError {
    /// Patterns or filters of routes. Never for a configuration that was loaded, which has asked the same code before.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Routes(Vec<RouteError>),
    /// A destination.
    #[error(transparent)]
    Destination(#[from] DestinationError),
}

/// All that a request or a delivery needs to know of the configuration.
#[derive(Debug)]
pub struct Blueprint {
    /// The settings as checked.
    pub config: Arc<Config>,
    /// The rules, compiled.
    pub routes: Routes,
    /// Where deliveries end, ready to be called.
    pub destinations: Destinations,
    /// Their names.
    pub known_destinations: Vec<String>,
    /// What routes and destinations ask for beyond the common case, for each turn of a worker.
    pub rules: serde_json::Value,
}

/// The blueprint of this moment, for all threads: the one value that a reload swaps. Whoever keeps what `load_full` gave
/// sees one configuration to its end.
pub type Live = Arc<ArcSwap<Blueprint>>;

impl Blueprint {
    /// Compiles routes and builds destinations.
    ///
    /// # Errors
    /// When a filter does not compile, or an HTTP client cannot be built.
    pub fn of(config: Arc<Config>, clock: &Clock) -> Result<Self, BlueprintError> {
        let routes = Routes::compile(&config.routes).map_err(BlueprintError::Routes)?;
        let destinations = Destinations::new(&config.destinations, clock)?;
        let known_destinations = config.destinations.keys().map(ToString::to_string).collect();
        let rules = rules_of(&config);
        Ok(Self { config, routes, destinations, known_destinations, rules })
    }

    /// The value that can be swapped.
    #[must_use]
    pub fn live(self) -> Live {
        Arc::new(ArcSwap::from_pointee(self))
    }

    /// The deliveries that an identified event of this source needs. `body_bytes`: the length of its body as it came.
    #[must_use]
    pub fn plan(&self, source: &SourceName, identity: &Identity, body_bytes: usize) -> Plan {
        ask(identity, body_bytes, |event| self.routes.plan(source, event))
    }

    /// The delivery that it needs by one route, whether that matches or not; `None` when the source has no such route.
    #[must_use]
    pub fn plan_only(
        &self,
        source: &SourceName,
        identity: &Identity,
        body_bytes: usize,
        route: &RouteName,
    ) -> Option<Plan> {
        ask(identity, body_bytes, |event| self.routes.plan_only(source, event, route))
    }

    /// The source of this name, compared exactly.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&Source> {
        // The name comes from a URL: it is parsed first, so that no odd text reaches the map or a log.
        self.config.sources.get(&name.parse().ok()?)
    }
}

/// Asks the routes about an event, as they see it.
fn ask<T>(identity: &Identity, body_bytes: usize, question: impl FnOnce(&Event<'_>) -> T) -> T {
    let json = identity.json();
    question(&Event {
        event_type: &identity.event_type,
        ordering_key: identity.ordering_key.as_ref(),
        event_time: identity.event_time,
        version: identity.version.as_ref(),
        body_bytes,
        json: json.as_deref(),
        payload: &|| serde_json::from_slice(json.as_ref()?).ok(),
    })
}
