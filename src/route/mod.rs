//! Routing: takes an identified event, gives the deliveries that the routes ask for, and why other routes ask for none.
//!
//! Pure but for the ids it allots. Never looks at a payload unless a filter or an ordering key wants to.

mod check;
mod expression;
mod facts;
mod filter;
mod key;
mod mistake;
mod pattern;
mod payload_path;
mod pointer;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use cel::Env;

pub(crate) use self::mistake::{check_filter, check_ordering_key, check_pattern};
use self::{
    facts::{Closed, Facts},
    filter::Filter,
    key::Key,
    pattern::Pattern,
    pointer::Pointer,
};
pub use self::{
    mistake::{Mistake, RouteError},
    payload_path::PayloadPath,
};
use crate::{
    config::{self, Order},
    domain::{
        DeliveryRef, DestinationName, EventTime, EventType, Flag, JobId, OrderingKey, PlannedDelivery, RouteName,
        SourceName, Version,
    },
};

/// The largest body, in bytes, that filters and ordering keys look into. They run before the answer, and parsing costs several times the
/// body's memory.
pub const FILTERED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The lane of events that have no ordering key: they wait for one another, since nothing tells which of them belong
/// together. A flag says so.
pub const DEFAULT_LANE: &str = "default";

/// All routes, ready to be asked.
pub struct Routes {
    by_source: BTreeMap<SourceName, Rules>,
    language: Arc<Env>,
}

/// The routes of one source, in the order written.
#[derive(Default)]
struct Rules {
    rules: Vec<Rule>,
    /// Every place in the payload that their ordering keys come from.
    pointers: Vec<Pointer>,
}

/// One route, parsed.
struct Rule {
    name: RouteName,
    patterns: Vec<Pattern>,
    filter: Option<Filter>,
    order: Order,
    key: Key,
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
    /// When it happened, by the provider.
    pub event_time: Option<EventTime>,
    /// Where it stands in its subject's history.
    pub version: Option<&'a Version>,
    /// How long the body is, in bytes.
    pub body_bytes: usize,
    /// The JSON of the body, as it came; `None` when it is no usable JSON.
    pub json: Option<&'a [u8]>,
    /// Parses `json`. Called once at most, and only when a filter or an expression wants it.
    pub payload: &'a dyn Fn() -> Option<serde_json::Value>,
}

/// What the routes say to an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The deliveries to record, in the order of the routes.
    pub deliveries: Vec<PlannedDelivery>,
    /// The source's other routes, and why each asks for nothing.
    pub unmatched: Vec<(RouteName, Why)>,
    /// Routes whose delivery went to [`DEFAULT_LANE`], and why.
    pub in_default_lane: Vec<(RouteName, String)>,
    /// Routes with `order = "event"` whose delivery goes by its arrival, since the event has neither time nor version.
    pub by_arrival: Vec<RouteName>,
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
    /// All mistakes in patterns, filters and ordering keys.
    pub fn compile(routes: &[config::Route]) -> Result<Self, Vec<RouteError>> {
        let language = expression::language();
        let mut by_source: BTreeMap<SourceName, Rules> = BTreeMap::new();
        let mut mistakes = Vec::new();
        for route in routes {
            match Rule::compile(&language, route) {
                Ok(rule) => by_source.entry(route.source.clone()).or_default().add(rule),
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
        let Some(rules) = self.by_source.get(source) else { return plan };
        let facts = Facts::of(event, source, &self.language, &rules.pointers);
        for rule in &rules.rules {
            match rule.judge(event, &facts) {
                Ok(()) => plan.add(rule, event, &facts),
                Err(why) => plan.unmatched.push((rule.name.clone(), why)),
            }
        }
        plan
    }

    /// The delivery that one route makes of an event, whether it matches or not; `None` when the source has no such route.
    #[must_use]
    pub fn plan_only(&self, source: &SourceName, event: &Event<'_>, route: &RouteName) -> Option<Plan> {
        let rules = self.by_source.get(source)?;
        let rule = rules.rules.iter().find(|rule| rule.name == *route)?;
        let mut plan = Plan::default();
        plan.add(rule, event, &Facts::of(event, source, &self.language, &rules.pointers));
        Some(plan)
    }
}

impl Rules {
    fn add(&mut self, rule: Rule) {
        if let Key::Pointer(pointer) = &rule.key
            && !self.pointers.contains(pointer)
        {
            self.pointers.push(pointer.clone());
        }
        self.rules.push(rule);
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
        let key = Key::compile(language, &route.ordering_key).map_err(|mistake| error("ordering_key", mistake));
        let key = match key {
            Ok(key) if mistakes.is_empty() => key,
            Ok(_) => return Err(mistakes),
            Err(mistake) => {
                mistakes.push(mistake);
                return Err(mistakes);
            }
        };
        let (name, destination) = (route.name.clone(), route.destination.clone());
        let hold = if route.order == Order::Event { route.reorder_window } else { Duration::ZERO };
        Ok(Self { name, patterns, filter, order: route.order, key, hold, destination })
    }

    fn judge(&self, event: &Event<'_>, facts: &Facts<'_>) -> Result<(), Why> {
        if !self.patterns.iter().any(|pattern| pattern.matches(event.event_type)) {
            return Err(Why::EventType);
        }
        let Some(filter) = &self.filter else { return Ok(()) };
        match filter.wants(facts.context()?) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Why::FilterFalse),
            Err(problem) => Err(Why::FilterFailed(problem)),
        }
    }

    /// The lane's key, or why there is none.
    fn ordering_key(&self, event: &Event<'_>, facts: &Facts<'_>) -> Result<OrderingKey, String> {
        let closed = |closed: Closed| closed.to_string();
        match &self.key {
            Key::Auto => event.ordering_key.cloned().ok_or_else(|| "the provider's table has none".to_owned()),
            Key::Pointer(pointer) => key::of_pointed(facts.pointed(pointer).map_err(closed)?, pointer),
            Key::Expression(expression) => key::of_value(&expression.run(facts.context().map_err(closed)?)?),
        }
    }
}

impl Plan {
    fn add(&mut self, rule: &Rule, event: &Event<'_>, facts: &Facts<'_>) {
        let ordering_key = (rule.order != Order::None).then(|| {
            rule.ordering_key(event, facts).unwrap_or_else(|why| {
                self.in_default_lane.push((rule.name.clone(), why));
                OrderingKey::new(DEFAULT_LANE)
            })
        });
        if rule.order == Order::Event && event.event_time.is_none() && event.version.is_none() {
            self.by_arrival.push(rule.name.clone());
        }
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

    /// What an operator should see on the receipt: routes that could not judge, deliveries in the default lane, and
    /// deliveries that cannot go by event time.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let unjudged = self.unmatched.iter().filter(|(_, why)| !matches!(why, Why::EventType | Why::FilterFalse));
        let unjudged = unjudged.map(|(route, why)| Flag::new(&format!("filter_failed: {route}: {why}")));
        let lanes = self.in_default_lane.iter().map(|(route, why)| Flag::new(&format!("default_lane: {route}: {why}")));
        let by_arrival = |route| Flag::new(&format!("by_arrival: {route}: the event has neither time nor version"));
        unjudged.chain(lanes).chain(self.by_arrival.iter().map(by_arrival)).collect()
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.by_source.iter().map(|(source, of)| (source, of.rules.len()))).finish()
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventType => f.write_str("none of its patterns fits the event type"),
            Self::FilterFalse => f.write_str("its filter says no"),
            Self::FilterFailed(problem) => f.write_str(problem),
            Self::PayloadUnusable => Closed::Unusable.fmt(f),
            Self::PayloadTooLarge => Closed::TooLarge.fmt(f),
        }
    }
}

impl From<Closed> for Why {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Unusable => Self::PayloadUnusable,
            Closed::TooLarge => Self::PayloadTooLarge,
        }
    }
}
