//! Tests of identification: one module a kind of evidence. Numbers such as B087 are cases of the collected bug reports
//! of other receivers.

mod api;
mod examples;
mod fixtures;
mod github;
mod hostile;
mod page;
mod standard_webhooks;
mod stripe;
mod versions;

use bytes::Bytes;

use super::{Identity, Provider, identify};
use crate::domain::Headers;

/// The headers of a GitHub event.
fn github_headers(event: &str) -> Headers {
    [("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"), ("X-GitHub-Event", event)].into_iter().collect()
}

/// Identifies a GitHub event that must have an identity.
fn github(event: &str, body: impl Into<Bytes>) -> Identity {
    identify(Provider::GitHub, &github_headers(event), &body.into()).unwrap()
}

/// Identifies a body from Stripe.
fn stripe(body: impl Into<Bytes>) -> Identity {
    identify(Provider::Stripe, &Headers::new(), &body.into()).unwrap()
}

fn key(identity: &Identity) -> Option<&str> {
    identity.ordering_key.as_ref().map(crate::domain::OrderingKey::as_str)
}

fn time(identity: &Identity) -> Option<String> {
    identity.event_time.map(|time| format!("{} {}", time.path, time.at.to_rfc3339()))
}

fn flags(identity: &Identity) -> Vec<&str> {
    identity.flags.iter().map(crate::domain::Flag::as_str).collect()
}
