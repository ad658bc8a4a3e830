//! [[routes]]: which events go where. It checks that a route leads from a source to a destination, and that its patterns
//! and its filter can be read; `crate::route` does the matching.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    compiled::{Destination, Retry, Route, Source},
    lanes::Lanes,
    reader::Reader,
    schema::nearest,
    tree::{Place, Value},
};
use crate::{
    domain::{DestinationName, RouteName, SourceName},
    route::{Mistake, check_filter, check_pattern},
};

/// What a route may lead from and to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) sources: &'a BTreeMap<SourceName, Source>,
    pub(super) destinations: &'a BTreeMap<DestinationName, Destination>,
    /// Every name that was written, those with mistakes too: they are not reported a second time.
    pub(super) written: &'a BTreeSet<(&'static str, String)>,
}

/// All routes, in the order written.
pub(super) fn routes(top: &Reader<'_>, ends: Ends<'_>) -> Vec<Route> {
    let (mut routes, mut first) = (Vec::new(), BTreeMap::<String, Place>::new());
    for table in top.rules("routes") {
        let route = route(&table, ends);
        if let Some(route) = &route
            && let Some(before) = first.insert(route.name.as_str().to_owned(), table.place.clone())
        {
            let at = if let Place::Line(line) = before { format!(" in line {line}") } else { String::new() };
            let problem = format!("is {:?}, as the name of another route{at}", route.name.as_str());
            table.mistake("name", problem, "give each route a name of its own: deliveries are kept by it");
        }
        routes.extend(route);
        table.finish();
    }
    warn_of_loose_ends(top, &routes, ends);
    routes
}

fn route(table: &Reader<'_>, ends: Ends<'_>) -> Option<Route> {
    // Everything is read before anything is given up, so that all mistakes are found.
    let name = name::<RouteName>(table, "name", "give the route a name, such as \"deploy\"");
    let known = ends.sources.keys().map(SourceName::as_str).chain([SourceName::OUTBOX]).collect();
    let source = name_of_one::<SourceName>(table, "source", "source", ends, known);
    let destination = destination(table, "destination", ends);
    let (events, filter, lanes, retry) = (events(table), filter(table), Lanes::read(table), retry(table));
    let on_dead_destination = table.has("on_dead_destination").then(|| on_dead_destination(table, ends)).flatten();
    Some(Route {
        name: name?,
        source: source?,
        events,
        filter,
        order: lanes.order,
        ordering_key: lanes.ordering_key,
        on_stale: lanes.on_stale,
        reorder_window: lanes.reorder_window,
        on_dead: lanes.on_dead,
        on_dead_destination,
        concurrency: lanes.concurrency,
        destination: destination?,
        retry,
    })
}

fn destination(table: &Reader<'_>, key: &'static str, ends: Ends<'_>) -> Option<DestinationName> {
    name_of_one(table, key, "destination", ends, ends.destinations.keys().map(DestinationName::as_str).collect())
}

/// A compensation that goes where the delivery died would most likely die there too.
fn on_dead_destination(table: &Reader<'_>, ends: Ends<'_>) -> Option<DestinationName> {
    const KEY: &str = "on_dead_destination";
    let own = table.node("destination").map(|node| &node.value);
    if matches!(own, Some(Value::Text(own)) if table.text(KEY, "refunds")? == own) {
        let instead = "name another destination: one that can be told when this one fails for good";
        table.mistake(KEY, "is the route's own destination, where the delivery has just failed for good", instead);
        return None;
    }
    destination(table, KEY, ends)
}

fn name<T: std::str::FromStr<Err: std::fmt::Display>>(
    table: &Reader<'_>,
    key: &'static str,
    instead: &str,
) -> Option<T> {
    let text = table.required(key, instead)?;
    text.parse().map_err(|error: T::Err| table.mistake(key, error.to_string(), instead)).ok()
}

fn name_of_one<T: std::str::FromStr<Err: std::fmt::Display>>(
    table: &Reader<'_>,
    key: &'static str,
    word: &'static str,
    ends: Ends<'_>,
    known: Vec<&str>,
) -> Option<T> {
    let text = table.required(key, &format!("name a {word}: one of {}", list(&known)))?;
    if ends.written.contains(&(word, text.to_owned())) {
        return text.parse().ok();
    }
    let instead = match nearest(text, known.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("write one of {}, or add [{word}s.{text}]", list(&known)),
    };
    table.mistake(key, format!("is {text:?}, but there is no such {word}: the route would lead nowhere"), instead);
    None
}

fn events(table: &Reader<'_>) -> Vec<String> {
    const EXAMPLE: &str = "events = [\"push\", \"release.*\"], or [\"*\"] for all";
    let Some(items) = table.list("events", EXAMPLE) else {
        if !table.has("events") {
            table.mistake("events", "is missing", format!("write {EXAMPLE}"));
        }
        return Vec::new();
    };
    if items.is_empty() {
        table.mistake("events", "is empty: the route would match nothing", format!("write {EXAMPLE}"));
    }
    let mut patterns = Vec::new();
    for (path, node) in items {
        match &node.value {
            Value::Text(text) => match check_pattern(text) {
                Ok(()) => patterns.push(text.clone()),
                Err(Mistake { problem, instead }) => table.findings.mistake(&node.place, &path, problem, instead),
            },
            other => table.findings.mistake(
                &node.place,
                &path,
                format!("is {}", other.type_name()),
                format!("write {EXAMPLE}"),
            ),
        }
    }
    patterns
}

fn filter(table: &Reader<'_>) -> Option<String> {
    let text = table.text("filter", "payload.ref == \"refs/heads/main\"")?;
    let checked = check_filter(text);
    checked.map_err(|Mistake { problem, instead }| table.mistake("filter", problem, instead)).ok()?;
    Some(text.to_owned())
}

fn retry(table: &Reader<'_>) -> Retry {
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(30 * 86_400));
    let table = table.table("retry");
    let retry = Retry {
        attempts: table.integer("attempts", 12, 1..=1_000),
        initial: table.duration("initial", Duration::from_secs(5), least..=most),
        max: table.duration("max", Duration::from_secs(3_600), least..=most),
    };
    if retry.initial > retry.max {
        let key = if table.has("initial") { "initial" } else { "max" };
        table.mistake(key, "makes the first wait longer than the longest", "make `initial` at most as long as `max`");
    }
    table.finish();
    retry
}

fn warn_of_loose_ends(top: &Reader<'_>, routes: &[Route], ends: Ends<'_>) {
    for name in ends.sources.keys().filter(|name| !routes.iter().any(|route| route.source == **name)) {
        top.findings.warn(format!("sources.{name} has no route: what it receives is stored, and nothing else happens"));
    }
    let leads_to = |route: &Route, name: &DestinationName| {
        route.destination == *name || route.on_dead_destination.as_ref() == Some(name)
    };
    for name in ends.destinations.keys().filter(|name| !routes.iter().any(|route| leads_to(route, name))) {
        top.findings.warn(format!("destinations.{name} is in no route: nothing will ever be delivered to it"));
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "(there is none yet)".into()
    } else {
        names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
    }
}
