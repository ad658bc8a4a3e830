//! `/destinations`: where deliveries end and the routes that lead there; how they do; pausing and resuming them.

use actix_web::{HttpResponse, web};
use askama::Template;

use super::{
    confirm::Confirm,
    pieces::{Badge, Moment, counted, line},
    shell::{Here, Shell},
    visit::{Order, Visit},
};
use crate::operate::{Breaker, Desk, DestinationLine, OperateError, Pausable, Paused, Result, RouteLine};

/// Unfinished deliveries and dead letters are counted up to here.
const COUNTED_MAX: i64 = 10_000;

struct Pause {
    since: Moment,
    by: String,
    reason: Option<String>,
}

struct Destination {
    name: String,
    kind: String,
    place: String,
    routes: Vec<String>,
    health: Badge,
    success: Option<Moment>,
    failure: Option<(Moment, String)>,
    unfinished: String,
    dead: String,
    has_dead: bool,
    pause: Option<Pause>,
}

struct Route {
    name: String,
    source: String,
    events: String,
    filter: Option<String>,
    order: String,
    ordering_key: String,
    destination: String,
    on_dead: String,
    unfinished: String,
    dead: String,
    has_dead: bool,
    pause: Option<Pause>,
}

#[derive(Template)]
#[template(path = "destinations.html")]
struct Destinations {
    shell: Shell,
    destinations: Vec<Destination>,
    routes: Vec<Route>,
    /// Pauses of names that the configuration has no more: they can still be ended.
    stray: Vec<(&'static str, String, Pause)>,
}

impl Pause {
    fn of(pause: Paused) -> Self {
        Self { since: Moment::of(pause.since), by: line(&pause.by), reason: pause.reason.as_deref().map(line) }
    }
}

impl Destination {
    fn of(destination: DestinationLine) -> Self {
        let health = match (destination.breaker, destination.last_success_at, destination.last_failure_at) {
            (Breaker::Open, ..) => Badge { tone: "bad", word: "failing" },
            (_, None, None) => Badge { tone: "idle", word: "not tried yet" },
            (_, Some(success), Some(failure)) if failure > success => {
                Badge { tone: "warn", word: "last attempt failed" }
            }
            (_, None, Some(_)) => Badge { tone: "warn", word: "last attempt failed" },
            _ => Badge { tone: "good", word: "well" },
        };
        let failure = destination.last_failure.as_deref().map(line).unwrap_or_default();
        Self {
            name: destination.destination,
            kind: destination.kind,
            place: line(&destination.place),
            routes: destination.routes,
            health,
            success: destination.last_success_at.map(Moment::of),
            failure: destination.last_failure_at.map(|at| (Moment::of(at), failure)),
            unfinished: counted(destination.unfinished, COUNTED_MAX),
            dead: counted(destination.dead, COUNTED_MAX),
            has_dead: destination.dead > 0,
            pause: destination.paused.map(Pause::of),
        }
    }
}

impl Route {
    fn of(route: RouteLine) -> Self {
        Self {
            name: route.route,
            source: route.source,
            events: route.events.join(", "),
            filter: route.filter,
            order: route.order,
            ordering_key: route.ordering_key,
            destination: route.destination,
            on_dead: route.on_dead,
            unfinished: counted(route.unfinished, COUNTED_MAX),
            dead: counted(route.dead, COUNTED_MAX),
            has_dead: route.dead > 0,
            pause: route.paused.map(Pause::of),
        }
    }
}

/// Shows them.
pub(super) async fn list(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let destinations = desk.destinations().await?;
        let routes = desk.routes().await?;
        let is_known = |pause: &Paused| match pause.kind {
            Pausable::Route => routes.iter().any(|route| route.route == pause.name),
            Pausable::Destination => destinations.iter().any(|destination| destination.destination == pause.name),
        };
        let stray = desk.pauses().await?.into_iter().filter(|pause| !is_known(pause));
        let stray = stray.map(|pause| (pause.kind.as_str(), pause.name.clone(), Pause::of(pause))).collect();
        Ok(Destinations {
            shell: visit.shell("Destinations", Here::Destinations).marking(),
            destinations: destinations.into_iter().map(Destination::of).collect(),
            routes: routes.into_iter().map(Route::of).collect(),
            stray,
        })
    };
    visit.answer(page.await)
}

/// Whether it is paused or resumed, and what.
fn wanted(kind: &str, act: &str) -> Result<(Pausable, bool)> {
    let unknown = |name: &str| OperateError::NotFound { what: "page", name: name.chars().take(80).collect() };
    let kind = match kind {
        "routes" => Pausable::Route,
        "destinations" => Pausable::Destination,
        other => return Err(unknown(other)),
    };
    match act {
        "pause" => Ok((kind, true)),
        "resume" => Ok((kind, false)),
        other => Err(unknown(other)),
    }
}

/// Asks whether to pause or resume.
pub(super) async fn ask(desk: web::Data<Desk>, visit: Visit) -> HttpResponse {
    let page = async {
        let (kind, is_pause) = wanted(visit.part("kind"), visit.part("act"))?;
        let name = visit.part("id").to_owned();
        let (word, waiting) = (kind.as_str(), waiting(&desk, kind, &name).await?);
        let number = counted(waiting.unwrap_or(0), COUNTED_MAX);
        let (verb, what) = if is_pause {
            (
                "Pause",
                format!(
                    "{number} unfinished: attempts under way end as they would, nothing new begins, order is kept."
                ),
            )
        } else {
            ("Resume", format!("{number} unfinished: what waited begins at once, in its order."))
        };
        if is_pause && waiting.is_none() {
            return Err(OperateError::NotFound { what: word, name: line(&name) });
        }
        let button = format!("{verb} 1 {word}");
        let shell = visit.shell(format!("{verb} the {word} {}?", line(&name)), Here::Destinations);
        let action = format!("/{word}s/{}/{}", super::pieces::part(&name), verb.to_lowercase());
        let confirm = Confirm::new(shell, what, action, button).back("/destinations");
        Ok(if is_pause { confirm.dangerous() } else { confirm })
    };
    visit.answer(page.await)
}

/// Unfinished deliveries of it; `None`: the configuration does not have it.
async fn waiting(desk: &Desk, kind: Pausable, name: &str) -> Result<Option<i64>> {
    Ok(match kind {
        Pausable::Route => {
            desk.routes().await?.into_iter().find(|route| route.route == name).map(|route| route.unfinished)
        }
        Pausable::Destination => {
            let all = desk.destinations().await?;
            all.into_iter().find(|known| known.destination == name).map(|known| known.unfinished)
        }
    })
}

/// Pauses or resumes.
pub(super) async fn act(desk: web::Data<Desk>, order: Order) -> HttpResponse {
    let done = async {
        let (kind, is_pause) = wanted(order.part("kind"), order.part("act"))?;
        let name = order.part("id");
        if is_pause {
            desk.pause(kind, name, order.instruction()).await?;
            return Ok("/destinations?done=paused".to_owned());
        }
        desk.resume(kind, name, order.instruction()).await?;
        Ok("/destinations?done=resumed".to_owned())
    };
    order.answer(done.await)
}
