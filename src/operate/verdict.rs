//! What the routes of today say to a receipt. Takes the story and the stored payload, plans again as recording does, and
//! records nothing.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;

use super::{RouteVerdict, standing::Standings};
use crate::{
    blueprint::Blueprint,
    config::{Config, Route},
    domain::{EventTime, EventType, OrderingKey, Purpose, SourceName},
    provider::{self, Identity, identify_outbox},
    route::{Event, Plan, Why as Unmatched},
    store::{
        delivery_story::DeliveryStory,
        receipt_story::{Payload, ReceiptFacts, ReceiptStory},
    },
};

/// What today's tables and routes say.
#[derive(Default)]
pub(super) struct Today {
    /// `None`: the source is not in the configuration any more.
    plan: Option<Plan>,
    /// Whether there was a payload to look into.
    has_payload: bool,
    /// What is odd about it, one sentence each.
    pub(super) remarks: Vec<String>,
}

impl Today {
    /// Identifies and plans, away from the threads that answer: a payload may be large.
    pub(super) async fn look(blueprint: Arc<Blueprint>, story: &ReceiptStory, payload: Option<Payload>) -> Self {
        let facts = story.facts.clone();
        let work = move || Self::plan(&blueprint, &facts, payload);
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Self {
            remarks: vec!["the routes could not be asked: this is a fault in Oncehook, please report it".to_owned()],
            ..Self::default()
        })
    }

    fn plan(blueprint: &Blueprint, facts: &ReceiptFacts, payload: Option<Payload>) -> Self {
        let Ok(source) = facts.source.parse::<SourceName>() else { return Self::default() };
        let Some(payload) = payload else {
            let remark = "its payload was deleted by retention.payloads: this is what its row says, and routes with a \
                          filter cannot be asked any more";
            let plan = Some(plan_of_row(blueprint, &source, facts));
            return Self { plan, has_payload: false, remarks: vec![remark.to_owned()] };
        };
        let body = Bytes::from(payload.body);
        let identity = if source == SourceName::outbox() {
            Ok(identify_outbox(0, &facts.event_type, facts.ordering_key.as_deref(), &body))
        } else {
            let Some(source) = blueprint.config.sources.get(&source) else {
                let remark = "the configuration has no such source any more: its routes cannot be asked".to_owned();
                return Self { remarks: vec![remark], ..Self::default() };
            };
            provider::identify(source.provider, &payload.headers, &body)
        };
        match identity {
            Ok(identity) => Self {
                plan: Some(blueprint.plan(&source, &identity, body.len())),
                has_payload: true,
                remarks: differences(facts, &identity),
            },
            Err(error) => Self {
                plan: Some(plan_of_row(blueprint, &source, facts)),
                has_payload: false,
                remarks: vec![format!("the source's provider of today cannot identify it: {error}")],
            },
        }
    }
}

/// Without the payload: routes without a filter can be asked all the same.
fn plan_of_row(blueprint: &Blueprint, source: &SourceName, facts: &ReceiptFacts) -> Plan {
    let event_type = EventType::new(&facts.event_type);
    let ordering_key = facts.ordering_key.as_deref().map(OrderingKey::new);
    let event = Event {
        event_type: &event_type,
        ordering_key: ordering_key.as_ref(),
        event_time: facts.event_time.map(|at| EventTime { at, path: "" }),
        version: facts.version.as_ref(),
        body_bytes: 0,
        json: None,
        payload: &|| None,
    };
    blueprint.routes.plan(source, &event)
}

/// What an upgrade, or another provider for the source, would make of it.
fn differences(facts: &ReceiptFacts, today: &Identity) -> Vec<String> {
    let mut differences = Vec::new();
    if today.event_type.as_str() != facts.event_type {
        differences.push(format!("today its event type would be {}", today.event_type));
    }
    let key = today.ordering_key.as_ref().map(OrderingKey::as_str);
    if key != facts.ordering_key.as_deref() {
        differences.push(format!("today its ordering key would be {}", key.unwrap_or("none")));
    }
    differences
}

/// What each route of its source says, in the order written; then the deliveries of routes that are no more.
pub(super) fn verdicts(
    config: &Config,
    story: &ReceiptStory,
    today: &Today,
    standings: &Standings<'_>,
) -> Vec<RouteVerdict> {
    let mut planned: BTreeMap<&str, Vec<&DeliveryStory>> = BTreeMap::new();
    for delivery in &story.deliveries {
        planned.entry(&delivery.route).or_default().push(delivery);
    }
    let mut verdicts = Vec::new();
    for route in config.routes.iter().filter(|route| route.source.as_str() == story.facts.source) {
        let its = planned.remove(route.name.as_str()).unwrap_or_default();
        let (matches, why) = judge(route, &story.facts, today);
        verdicts.push(verdict(route.name.as_str(), matches, why, &its, standings));
    }
    for (route, its) in planned {
        let why = match config.routes.iter().find(|known| known.name.as_str() == route) {
            Some(known) => format!("it takes from the source {} today", known.source),
            None => "the configuration has no such route any more".to_owned(),
        };
        verdicts.push(verdict(route, false, why, &its, standings));
    }
    verdicts
}

fn judge(route: &Route, facts: &ReceiptFacts, today: &Today) -> (bool, String) {
    let Some(plan) = &today.plan else { return (false, "cannot be asked".to_owned()) };
    let patterns = route.events.join(", ");
    if let Some((_, why)) = plan.unmatched.iter().find(|(name, _)| *name == route.name) {
        let why = match why {
            Unmatched::EventType => format!("none of its patterns ({patterns}) fits {}", facts.event_type),
            Unmatched::PayloadUnusable if !today.has_payload => {
                "cannot be told: it has a filter, and there is no payload to look into".to_owned()
            }
            why => why.to_string(),
        };
        return (false, why);
    }
    let filter = if route.filter.is_some() { ", and its filter says yes" } else { "" };
    let lane = plan.deliveries.iter().find(|planned| planned.route == route.name);
    let lane = match lane.and_then(|planned| planned.ordering_key.as_ref()) {
        Some(key) => format!("; its ordering key is {key}"),
        None => "; it waits for no other (order = \"none\")".to_owned(),
    };
    let by_default = plan.in_default_lane.iter().find(|(name, _)| *name == route.name);
    let by_default = by_default.map_or(String::new(), |(_, why)| format!(" for want of another: {why}"));
    (true, format!("{} fits one of its patterns ({patterns}){filter}{lane}{by_default}", facts.event_type))
}

fn verdict(route: &str, matches: bool, why: String, its: &[&DeliveryStory], standings: &Standings<'_>) -> RouteVerdict {
    let delivery = its.iter().find(|delivery| delivery.purpose == Purpose::Deliver);
    let told = its.iter().map(|delivery| match delivery.purpose {
        Purpose::Deliver => standings.of(delivery),
        Purpose::Compensate => {
            format!("its compensation {} to {}: {}", delivery.id, delivery.destination, standings.of(delivery))
        }
    });
    let told: Vec<String> = told.collect();
    RouteVerdict {
        route: route.to_owned(),
        matches,
        why,
        delivery: delivery.map(|delivery| delivery.id),
        standing: (!told.is_empty()).then(|| told.join("; ")),
    }
}
