//! `/sources`: each way in, with a light that turns green at its first delivery, how to set up its provider, and which of its
//! secrets is still in use.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    pieces::{Badge, Moment, grouped, line},
    setup::{Setup, setup_of},
    shell::{Here, Shell},
    visit::Visit,
};
use crate::{
    domain::SourceName,
    operate::{Desk, OperateError, SecretUse, SourceLine},
};

struct Secret {
    fingerprint: String,
    caller: Option<String>,
    is_configured: bool,
    first: Option<Moment>,
    last: Option<Moment>,
    uses: String,
    advice: String,
}

struct Source {
    name: String,
    provider: String,
    url: String,
    scheme: String,
    replay_guard: String,
    light: Badge,
    last: Option<Moment>,
    day: Vec<(String, String)>,
    routes: Vec<String>,
    secrets: Vec<Secret>,
    setup: Option<&'static Setup>,
}

#[derive(Template)]
#[template(path = "sources.html")]
struct Sources {
    shell: Shell,
    sources: Vec<Source>,
}

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    shell: Shell,
    source: Source,
}

/// Shows them all.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let sources: Vec<Source> =
            desk.sources().await?.into_iter().map(|line| Source::of(&desk, &visit, line)).collect();
        let is_waiting = sources.iter().any(|source| source.last.is_none());
        let shell = visit.shell("Sources", Here::Sources);
        Ok(Sources { shell: if is_waiting { shell.renewing(5) } else { shell.renewing(30) }, sources })
    };
    visit.answer(page.await)
}

/// Shows one.
pub(super) async fn show(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let name = visit.part("id");
        // A name that cannot be one is never quoted whole.
        let _: SourceName = name.parse().map_err(|_| OperateError::NotFound { what: "source", name: line(name) })?;
        let source = Source::of(&desk, &visit, desk.source(name).await?);
        let shell = visit.shell(format!("Source {}", source.name), Here::Sources);
        Ok(SourcePage { shell: shell.renewing(5), source })
    };
    visit.answer(page.await)
}

impl Source {
    fn of(desk: &Desk, visit: &Visit, source: SourceLine) -> Self {
        let live = desk.live.load_full();
        let known = live.source(&source.source);
        let light = match source.last_receipt_at {
            Some(_) => Badge { tone: "good", word: "receiving" },
            None => Badge { tone: "warn", word: "waiting for the first delivery…" },
        };
        Self {
            url: url_of(desk, visit, &source.path),
            name: source.source,
            provider: source.provider,
            scheme: source.scheme.unwrap_or_else(|| "none: requests are not signed".to_owned()),
            replay_guard: source.replay_guard,
            light,
            last: source.last_receipt_at.map(Moment::of),
            day: source.last_day.into_iter().map(|(word, number)| (word.replace('_', " "), grouped(number))).collect(),
            routes: source.routes,
            secrets: source.secrets.into_iter().map(Secret::of).collect(),
            setup: known.map(|known| setup_of(known.provider)),
        }
    }
}

impl Secret {
    fn of(secret: SecretUse) -> Self {
        Self {
            fingerprint: secret.fingerprint,
            caller: secret.caller,
            is_configured: secret.is_configured,
            first: secret.first_used_at.map(Moment::of),
            last: secret.last_used_at.map(Moment::of),
            uses: grouped(secret.uses),
            advice: line(&secret.advice),
        }
    }
}

/// The URL to paste: the name by which the operator reaches this machine, with the port for webhooks. A proxy in front has
/// another, as the page says.
fn url_of(desk: &Desk, visit: &Visit, path: &str) -> String {
    let port = desk.live.load_full().config.intake.listen.port();
    format!("http://{}:{port}{path}", visit.host())
}
