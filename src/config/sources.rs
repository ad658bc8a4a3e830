//! [sources.NAME]: the ways in. A source is signed, with secrets that are fit for it, or it says `allow_unsigned`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    callers::{Admitted, callers},
    compiled::{Dedupe, Source},
    generated::Plan,
    reader::Reader,
    schema::nearest,
    secret::{Purpose, Resolved, Resolver},
    settings::bytes,
    tree::Place,
};
use crate::{
    domain::{ReplayGuard, Secret, SourceName},
    provider::Provider,
};

/// What to do about keys that only `api` sources have.
const ONLY_API: &str = "remove it, or write provider = \"api\" if your own programs post commands here";

/// All sources, and the secrets that are still to be made.
pub(super) fn sources(
    top: &Reader<'_>,
    resolver: &Resolver<'_>,
    in_flight_bytes_max: usize,
) -> (BTreeMap<SourceName, Source>, Vec<Plan>) {
    let tables = top.named("sources");
    if tables.is_empty() {
        top.findings.mistake(
            &Place::File,
            "sources",
            "there is no source: every request would be answered 404",
            "write at least one [sources.NAME] with its provider and secrets",
        );
    }
    let (mut sources, mut plans, mut folded) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for (name, table) in tables {
        if let Some(other) = folded.insert(name.to_lowercase(), name) {
            let problem = format!("differs from [sources.{other}] by upper and lower case only");
            table.findings.mistake(&table.place, &table.path, problem, "keep one of the two, in small letters");
        }
        match name.parse::<SourceName>() {
            Ok(name) if name == SourceName::outbox() => {
                let instead = "rename it, such as [sources.orders]; routes with source = \"outbox\" take what was written into the table oncehook.outbox, and need no source of yours";
                table.findings.mistake(&table.place, &table.path, "has the name of the built-in source", instead);
                continue;
            }
            Ok(name) => {
                let (source, more) = source(name.clone(), &table, resolver, in_flight_bytes_max);
                sources.insert(name, source);
                plans.extend(more);
            }
            Err(error) => {
                let instead =
                    format!("rename it: requests come in at /hooks/NAME; such as [sources.{}]", suggested_name(name));
                table.findings.mistake(&table.place, &table.path, error.to_string(), instead);
                continue;
            }
        }
        table.finish();
    }
    (sources, plans)
}

fn source(
    name: SourceName,
    table: &Reader<'_>,
    resolver: &Resolver<'_>,
    in_flight_bytes_max: usize,
) -> (Source, Vec<Plan>) {
    let known = provider(table);
    // With an unknown provider the rest is read as GitHub's, to find its mistakes as well.
    let provider = known.unwrap_or(Provider::GitHub);
    let scheme = provider.default_scheme();
    let allow_unsigned = table.flag("allow_unsigned").unwrap_or(false);
    let purpose = Purpose { owner: "source", name: name.as_str(), scheme };
    let is_api = provider == Provider::Api;
    let admitted = if is_api {
        callers(table, resolver, purpose)
    } else {
        table.refuse_all(&["callers"], "is of no use here: only an api source tells callers apart", ONLY_API);
        let (secrets, plan) = secrets(table, resolver, purpose, allow_unsigned);
        Admitted { callers: Vec::new(), secrets, plans: plan.into_iter().collect() }
    };
    // Commands are small; and a signature is tried with the secrets of all callers before anything is believed.
    let body_bytes_max = bytes(table, "body_bytes_max", if is_api { 1 << 20 } else { 26 << 20 }, 1 << 10, 1 << 30);
    if body_bytes_max > in_flight_bytes_max {
        let instead = "make it smaller, or intake.in_flight_bytes_max larger";
        table.mistake(
            "body_bytes_max",
            "is more than intake.in_flight_bytes_max: such a body would never be accepted",
            instead,
        );
    }
    let source = Source {
        name,
        provider,
        scheme: (is_api || !allow_unsigned).then_some(scheme),
        secrets: admitted.secrets,
        callers: admitted.callers,
        tolerance: tolerance(table, known),
        body_bytes_max,
        dedupe: dedupe(table, provider),
        replay_guard: replay_guard(table, provider, allow_unsigned),
        conflict_status: conflict_status(table, provider),
    };
    (source, admitted.plans)
}

fn provider(table: &Reader<'_>) -> Option<Provider> {
    let names = Provider::ALL.map(|provider| format!("{:?}", provider.as_str())).join(", ");
    let instead = format!("write provider = one of {names}");
    let text = table.required("provider", &instead)?;
    if let Ok(provider) = text.parse() {
        return Some(provider);
    }
    let near = nearest(text, Provider::ALL.into_iter().map(Provider::as_str));
    let instead = near.map_or(instead, |near| format!("did you mean {near:?}?"));
    table.mistake("provider", format!("is {text:?}, which Oncehook does not know"), instead);
    None
}

fn secrets(
    table: &Reader<'_>,
    resolver: &Resolver<'_>,
    purpose: Purpose<'_>,
    allow_unsigned: bool,
) -> (Vec<Secret>, Option<Plan>) {
    let items = table.list("secrets", "[{ env = \"GITHUB_WEBHOOK_SECRET\" }]").unwrap_or_default();
    let name = purpose.name;
    match (items.is_empty(), allow_unsigned) {
        (true, false) => table.mistake(
            "secrets",
            "there is no secret, so nobody could tell who sends",
            "write secrets = [{ env = \"NAME\" }]; only to take requests from anybody: allow_unsigned = true",
        ),
        (false, true) => table.mistake(
            "allow_unsigned",
            "stands beside secrets, which would then not be checked",
            "remove allow_unsigned to have signatures checked, or the secrets to take requests from anybody",
        ),
        (true, true) => table.findings.warn(format!(
            "sources.{name} is UNSIGNED (allow_unsigned = true): whoever reaches /hooks/{name} can make your destinations act"
        )),
        (false, false) => {}
    }
    let (mut ready, mut plan, mut seen) = (Vec::new(), None, BTreeSet::new());
    for (path, node) in items {
        match resolver.resolve(node, &path, purpose) {
            Some(Resolved::Ready(secret)) => {
                if !seen.insert(secret.fingerprint().clone()) {
                    table.findings.warn(format!("{path}: this secret stands twice in the list"));
                }
                ready.push(secret);
            }
            Some(Resolved::ToGenerate(one)) => plan = Some(one),
            None => {}
        }
    }
    (ready, plan)
}

fn tolerance(table: &Reader<'_>, known: Option<Provider>) -> Duration {
    let default = known.and_then(Provider::default_tolerance);
    if let (Some(provider), None, true) = (known, default, table.has("tolerance")) {
        let path = table.path_of("tolerance");
        table.findings.warn(format!("{path}: {provider} signs no time, so there is nothing to tolerate"));
    }
    let range = Duration::from_secs(1)..=Duration::from_secs(86_400);
    table.duration("tolerance", default.unwrap_or(Duration::from_secs(300)), range)
}

fn dedupe(table: &Reader<'_>, provider: Provider) -> Dedupe {
    match table.text("dedupe", "per_event") {
        None | Some("per_event") => Dedupe::PerEvent,
        Some("per_hook") => {
            if provider != Provider::GitHub {
                let path = table.path_of("dedupe");
                table.findings.warn(format!(
                    "{path}: only GitHub gives one delivery id to several hooks; elsewhere \"per_hook\" changes nothing"
                ));
            }
            Dedupe::PerHook
        }
        Some(other) => {
            let problem = format!("is {other:?}, which is no way to tell events apart");
            table.mistake(
                "dedupe",
                problem,
                "write \"per_event\" (one receipt for one delivery id) or \"per_hook\" (one for each hook)",
            );
            Dedupe::PerEvent
        }
    }
}

fn replay_guard(table: &Reader<'_>, provider: Provider, allow_unsigned: bool) -> ReplayGuard {
    if provider == Provider::Api {
        let problem = "does not fit an api source: the same command under a new key is meant to run again";
        table.refuse_all(&["replay_guard"], problem, "remove it");
        return ReplayGuard::Off;
    }
    // Without a signature nobody needs a captured request.
    let looks = !provider.signs_delivery_id() && !allow_unsigned;
    let default = if looks { ReplayGuard::Flag } else { ReplayGuard::Off };
    let known = [ReplayGuard::Off, ReplayGuard::Flag, ReplayGuard::Hold, ReplayGuard::Reject];
    let Some(text) = table.text("replay_guard", default.as_str()) else { return default };
    known.into_iter().find(|guard| guard.as_str() == text).unwrap_or_else(|| {
        table.mistake(
            "replay_guard",
            format!("is {text:?}, which says nothing about the same bytes under another delivery id"),
            "write \"flag\" (take it, and say so on the receipt), \"hold\" (store it until an operator releases it), \"reject\" \
             (refuse it) or \"off\"",
        );
        default
    })
}

fn conflict_status(table: &Reader<'_>, provider: Provider) -> u16 {
    if provider == Provider::Api {
        table.refuse_all(&["on_conflict"], "cannot be chosen: a known key with another payload is a 422", "remove it");
        return provider.default_conflict_status();
    }
    let status = table.integer("on_conflict", provider.default_conflict_status(), 200..=409);
    if !matches!(status, 200 | 409) {
        table.mistake(
            "on_conflict",
            format!("is {status}"),
            "write 409 (the sender sees a failure) or 200 (it does not try again)",
        );
    }
    status
}

/// The nearest name that would be accepted.
fn suggested_name(name: &str) -> String {
    let folded: String =
        name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(64).collect();
    let trimmed = folded.trim_matches('-');
    if trimmed.is_empty() { "github".into() } else { trimmed.into() }
}
