//! Routing: takes an identified event, gives the deliveries that the routes ask for, and why other routes ask for none.
//! Pure but for the ids it allots. Never looks at a payload unless a filter wants to.

mod check;
mod filter;
mod mistake;
mod pattern;
#[cfg(test)]
mod tests;

use std::{cell::OnceCell, collections::BTreeMap, fmt, sync::Arc, time::Duration};

use cel::{Context, Env};

pub use self::mistake::{Mistake, RouteError};
pub(crate) use self::mistake::{check_filter, check_pattern};
use self::{filter::Filter, pattern::Pattern};
use crate::{
    config::{self, Order},
    domain::{
        DeliveryRef, DestinationName, EventType, Flag, JobId, OrderingKey, PlannedDelivery, RouteName, SourceName,
    },
};

/// The largest body, in bytes, that filters look into. They run before the answer, and parsing costs several times the
/// body's memory.
pub const FILTERED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The lane of events for which the provider's table has no ordering key: with `order = "arrival"` they wait for one
/// another, since nothing tells which of them belong together.
pub const DEFAULT_LANE: &str = "default";

/// All routes, ready to be asked.
pub struct Routes {
    by_source: BTreeMap<SourceName, Vec<Rule>>,
    language: Arc<Env>,
}

/// One route, parsed.
struct Rule {
    name: RouteName,
    patterns: Vec<Pattern>,
    filter: Option<Filter>,
    order: Order,
    hold: Duration,
    destination: DestinationName,
}

/// What routing looks at.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// What kind of event.
    pub event_type: &'a EventType,
    /// What the provider's table says the event is about.
    pub ordering_key: Option<&'a OrderingKey>,
    /// How long the body is, in bytes.
    pub body_bytes: usize,
    /// Parses the body; `None` when it is no usable JSON. Called once at most, and only when a filter wants it.
    pub payload: &'a dyn Fn() -> Option<serde_json::Value>,
}

/// What the routes say to an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The deliveries to record, in the order of the routes.
    pub deliveries: Vec<PlannedDelivery>,
    /// The source's other routes, and why each asks for nothing.
    pub unmatched: Vec<(RouteName, Why)>,
    /// Routes whose delivery went to [`DEFAULT_LANE`].
    pub in_default_lane: Vec<RouteName>,
}

/// Why a route asks for no delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// None of its patterns fits the event type.
    EventType,
    /// Its filter says no.
    FilterFalse,
    /// Its filter could not say: a field is missing or of another type. Counts as no, and is flagged.
    FilterFailed(String),
    /// It has a filter, and the payload is no usable JSON. Counts as no, and is flagged.
    PayloadUnusable,
    /// It has a filter, and the body is longer than [`FILTERED_BYTES_MAX`]. Counts as no, and is flagged.
    PayloadTooLarge,
}

impl Routes {
    /// Parses and checks all routes.
    ///
    /// # Errors
    /// All mistakes in patterns and filters.
    pub fn compile(routes: &[config::Route]) -> Result<Self, Vec<RouteError>> {
        let language = filter::language();
        let mut by_source: BTreeMap<SourceName, Vec<Rule>> = BTreeMap::new();
        let mut mistakes = Vec::new();
        for route in routes {
            match Rule::compile(&language, route) {
                Ok(rule) => by_source.entry(route.source.clone()).or_default().push(rule),
                Err(found) => mistakes.extend(found),
            }
        }
        if mistakes.is_empty() { Ok(Self { by_source, language }) } else { Err(mistakes) }
    }

    /// The deliveries that an event of this source needs. A filter that fails counts as no: an event that a filter cannot
    /// judge is not sent where it may not belong, and [`Plan::flags`] tells the operator.
    #[must_use]
    pub fn plan(&self, source: &SourceName, event: &Event<'_>) -> Plan {
        let mut plan = Plan::default();
        let facts = OnceCell::new();
        for rule in self.by_source.get(source).into_iter().flatten() {
            match self.judge(rule, source, event, &facts) {
                Ok(()) => plan.add(rule, event),
                Err(why) => plan.unmatched.push((rule.name.clone(), why)),
            }
        }
        plan
    }

    fn judge(
        &self,
        rule: &Rule,
        source: &SourceName,
        event: &Event<'_>,
        facts: &OnceCell<Option<Context<'static, 'static>>>,
    ) -> Result<(), Why> {
        if !rule.patterns.iter().any(|pattern| pattern.matches(event.event_type)) {
            return Err(Why::EventType);
        }
        let Some(filter) = &rule.filter else { return Ok(()) };
        if event.body_bytes > FILTERED_BYTES_MAX {
            return Err(Why::PayloadTooLarge);
        }
        let facts = facts.get_or_init(|| {
            let payload = (event.payload)()?;
            Some(filter::facts(&self.language, payload, event.event_type.as_str(), source.as_str()))
        });
        let facts = facts.as_ref().ok_or(Why::PayloadUnusable)?;
        match filter.wants(facts) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Why::FilterFalse),
            Err(problem) => Err(Why::FilterFailed(problem)),
        }
    }
}

impl Rule {
    fn compile(language: &Env, route: &config::Route) -> Result<Self, Vec<RouteError>> {
        let error = |key, mistake| RouteError { route: route.name.clone(), key, mistake };
        let mut mistakes = Vec::new();
        let mut patterns = Vec::with_capacity(route.events.len());
        for text in &route.events {
            match Pattern::parse(text) {
                Ok(pattern) => patterns.push(pattern),
                Err(mistake) => mistakes.push(error("events", mistake)),
            }
        }
        if route.events.is_empty() {
            mistakes.push(error(
                "events",
                Mistake::new("is empty: the route would match nothing", "write [\"*\"] for all"),
            ));
        }
        let filter = match route.filter.as_deref().map(|text| Filter::compile(language, text)).transpose() {
            Ok(filter) => filter,
            Err(mistake) => {
                mistakes.push(error("filter", mistake));
                None
            }
        };
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let (name, destination) = (route.name.clone(), route.destination.clone());
        let hold = if route.order == Order::Event { route.reorder_window } else { Duration::ZERO };
        Ok(Self { name, patterns, filter, order: route.order, hold, destination })
    }
}

impl Plan {
    fn add(&mut self, rule: &Rule, event: &Event<'_>) {
        let ordering_key = match rule.order {
            Order::None => None,
            Order::Arrival | Order::Event => Some(event.ordering_key.cloned().unwrap_or_else(|| {
                self.in_default_lane.push(rule.name.clone());
                OrderingKey::new(DEFAULT_LANE)
            })),
        };
        self.deliveries.push(PlannedDelivery {
            delivery: DeliveryRef::new(),
            route: rule.name.clone(),
            destination: rule.destination.clone(),
            ordering_key,
            by_event: rule.order == Order::Event,
            hold: rule.hold,
            job: JobId::new(),
        });
    }

    /// What an operator should see on the receipt: routes that could not judge, and deliveries in the default lane.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let unjudged = self.unmatched.iter().filter(|(_, why)| !matches!(why, Why::EventType | Why::FilterFalse));
        let unjudged = unjudged.map(|(route, why)| Flag::new(&format!("filter_failed: {route}: {why}")));
        let lanes = self.in_default_lane.iter().map(|route| Flag::new(&format!("default_lane: {route}")));
        unjudged.chain(lanes).collect()
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.by_source.iter().map(|(source, rules)| (source, rules.len()))).finish()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventType => f.write_str("none of its patterns fits the event type"),
            Self::FilterFalse => f.write_str("its filter says no"),
            Self::FilterFailed(problem) => f.write_str(problem),
            Self::PayloadUnusable => f.write_str("the payload is no usable JSON"),
            Self::PayloadTooLarge => {
                write!(f, "the body is longer than the {FILTERED_BYTES_MAX} bytes that filters look into")
            }
        }
    }
}
