//! [destinations.NAME]: where deliveries end. It checks what can be known without a network.

use std::{collections::BTreeMap, time::Duration};

use url::{Host, Url};

use super::{
    command::{COMMAND_KEYS, command},
    compiled::{Destination, DestinationKind, HttpDestination},
    generated::Plan,
    lanes::CONCURRENCY,
    rate,
    reader::Reader,
    schema::nearest,
    secret::{Purpose, Resolved, Resolver},
    sql::{SQL_KEYS, handler, sql},
    tree::Value,
};
use crate::{
    domain::{DestinationName, Secret},
    verify::Scheme,
};

/// Every kind.
const KINDS: [&str; 5] = ["http", "command", "sql", "handler", "log"];

/// The keys that only an HTTP destination has.
const HTTP_KEYS: [&str; 5] = ["url", "connect_timeout", "first_byte_timeout", "secret", "retry_statuses"];

/// All destinations, and the secrets that are still to be made.
pub(super) fn destinations(
    top: &Reader<'_>,
    resolver: &Resolver<'_>,
    allow_commands: bool,
) -> (BTreeMap<DestinationName, Destination>, Vec<Plan>) {
    let (mut destinations, mut plans) = (BTreeMap::new(), Vec::new());
    for (name, table) in top.named("destinations") {
        match name.parse::<DestinationName>() {
            Ok(name) => {
                let (kind, plan) = kind(&name, &table, resolver, allow_commands);
                let concurrency = table.limit("concurrency", 4, CONCURRENCY);
                let pace = rate::pace(&table);
                destinations.insert(name.clone(), Destination { name, kind, concurrency, pace });
                plans.extend(plan);
                table.finish();
            }
            Err(error) => table.findings.mistake(
                &table.place,
                &table.path,
                error.to_string(),
                "rename it, and the routes that name it",
            ),
        }
    }
    (destinations, plans)
}

fn kind(
    name: &DestinationName,
    table: &Reader<'_>,
    resolver: &Resolver<'_>,
    allow_commands: bool,
) -> (DestinationKind, Option<Plan>) {
    const INSTEAD: &str = "write kind = \"http\" (posts to a service), \"command\" (runs a program), \"sql\" (calls a function in \
                         the database), \"handler\" (a Rust handler) or \"log\" (writes a line to the log)";
    let written = table.required("kind", INSTEAD);
    refuse_keys_of_others(table, written);
    match written {
        Some("log") => {
            table.refuse_all(&["timeout"], "has no meaning for kind \"log\": it takes no time", "remove it");
            (DestinationKind::Log, None)
        }
        Some("command") => {
            (command(table, resolver, allow_commands).map_or(DestinationKind::Log, DestinationKind::Command), None)
        }
        Some("sql") => (sql(table).map_or(DestinationKind::Log, DestinationKind::Sql), None),
        Some("handler") => (DestinationKind::Handler(handler(table)), None),
        None | Some("http") => {
            let (http, plan) = http(name, table, resolver);
            (http.map_or(DestinationKind::Log, DestinationKind::Http), plan)
        }
        Some(other) => {
            let near = nearest(other, KINDS.into_iter());
            let instead = near.map_or(INSTEAD.into(), |near| format!("did you mean {near:?}?"));
            table.mistake("kind", format!("is {other:?}, which Oncehook does not know"), instead);
            (http(name, table, resolver).0.map_or(DestinationKind::Log, DestinationKind::Http), None)
        }
    }
}

/// Keys that have no meaning for the kind that is written. Of a kind that does not exist nobody knows, and its mistake is
/// reported.
fn refuse_keys_of_others(table: &Reader<'_>, written: Option<&str>) {
    let written = written.unwrap_or("http");
    let is_known = KINDS.contains(&written);
    let kinds: [(&str, &[&'static str]); 3] = [("http", &HTTP_KEYS), ("command", &COMMAND_KEYS), ("sql", &SQL_KEYS)];
    for (kind, keys) in kinds.into_iter().filter(|(kind, _)| *kind != written) {
        if is_known {
            let (problem, instead) = ("is for destinations of kind", "remove it, or write kind =");
            table.refuse_all(keys, &format!("{problem} {kind:?}"), &format!("{instead} {kind:?}"));
        } else {
            keys.iter().for_each(|key| _ = table.node(key));
        }
    }
}

/// `None`: its URL is wrong, which has been reported.
fn http(
    name: &DestinationName,
    table: &Reader<'_>,
    resolver: &Resolver<'_>,
) -> (Option<HttpDestination>, Option<Plan>) {
    let instant = Duration::from_millis(10);
    let timeout = table.duration("timeout", Duration::from_secs(30), instant..=Duration::from_secs(3_600));
    let part = |key, default: u64| {
        let value = table.duration(key, Duration::from_secs(default), instant..=Duration::from_secs(3_600));
        if table.has(key) && value > timeout {
            table.mistake(
                key,
                "is longer than `timeout`, which ends the attempt before",
                "make it shorter, or `timeout` longer",
            );
        }
        value.min(timeout)
    };
    let (connect_timeout, first_byte_timeout) = (part("connect_timeout", 5), part("first_byte_timeout", 10));
    let (secret, plan) = secret(name, table, resolver);
    let retry_statuses = retry_statuses(table);
    let http = url(table).map(|url| HttpDestination {
        url,
        connect_timeout,
        first_byte_timeout,
        timeout,
        secret,
        retry_statuses,
    });
    (http, plan)
}

/// The URL is never shown: it may hold a token.
fn url(table: &Reader<'_>) -> Option<Url> {
    let instead = "write an absolute URL, such as \"http://127.0.0.1:9000/hooks\"";
    let text = table.required("url", instead)?;
    let problem = match Url::parse(text) {
        Err(error) => format!("is not a URL: {error}"),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "does not begin with http:// or https://".into(),
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            let instead =
                "remove it; the service can check the signature instead, for which the destination needs a `secret`";
            table.mistake("url", "holds a user name or password, which would end in logs", instead);
            return None;
        }
        Ok(url) => {
            if url.scheme() == "http" && !is_loopback(&url) {
                let path = table.path_of("url");
                table.findings.warn(format!(
                    "{path} is http:// to another machine: payloads cross the network in the clear; use https://"
                ));
            }
            return Some(url);
        }
    };
    table.mistake("url", problem, instead);
    None
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn secret(name: &DestinationName, table: &Reader<'_>, resolver: &Resolver<'_>) -> (Option<Secret>, Option<Plan>) {
    let Some(node) = table.node("secret") else { return (None, None) };
    // What goes out is signed as Standard Webhooks says, whoever sent it.
    let purpose = Purpose { owner: "destination", name: name.as_str(), scheme: Scheme::StandardWebhooks };
    match resolver.resolve(node, &table.path_of("secret"), purpose) {
        Some(Resolved::Ready(secret)) => (Some(secret), None),
        Some(Resolved::ToGenerate(plan)) => (None, Some(plan)),
        None => (None, None),
    }
}

fn retry_statuses(table: &Reader<'_>) -> Vec<u16> {
    let mut statuses = Vec::new();
    for (path, node) in table.list("retry_statuses", "[404, 409]").unwrap_or_default() {
        let status = match node.value {
            Value::Integer(Some(number)) => u16::try_from(number).ok().filter(|status| (300..=599).contains(status)),
            _ => None,
        };
        match status {
            Some(status) => statuses.push(status),
            None => {
                table.findings.mistake(
                    &node.place,
                    &path,
                    "is no status that can be tried again",
                    "write whole numbers from 300 to 599",
                );
            }
        }
    }
    statuses
}
