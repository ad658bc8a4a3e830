//! What an operator should look at first, and what to do about each: blocked lanes, dead letters, pauses, destinations that
//! cannot be reached, held receipts, requests that nobody could verify.

use super::{
    overview::sum,
    pieces::{Moment, between, count, line},
};
use crate::operate::{Breaker, Desk, Result, Stats};

/// Whoever waits longer than this is worth a look.
const LONG_WAIT_MINUTES: i64 = 5;

/// One trouble.
pub(super) struct Trouble {
    pub(super) tone: &'static str,
    pub(super) what: String,
    pub(super) since: Option<Moment>,
    pub(super) what_to_do: String,
    pub(super) link: String,
    pub(super) go: &'static str,
}

/// All there are, the worst first.
pub(super) async fn troubles(desk: &Desk, stats: &Stats) -> Result<Vec<Trouble>> {
    let mut troubles = Vec::new();
    let dead = stats.backlog.deliveries.get("dead").copied().unwrap_or(0);
    let mut push = |number: i64, tone, what: String, what_to_do: &str, link: &str, go| {
        if number > 0 {
            let (what_to_do, link) = (what_to_do.to_owned(), link.to_owned());
            troubles.push(Trouble { tone, what, since: None, what_to_do, link, go });
        }
    };
    let blocked = stats.backlog.blocked_lanes;
    push(
        blocked,
        "bad",
        count(blocked, "lane is blocked by a dead delivery", "lanes are blocked by dead deliveries"),
        "Everything behind it waits: retry the dead delivery, or let the lane go on without it.",
        "/lanes?blocked=true",
        "Show blocked lanes",
    );
    push(
        dead,
        "bad",
        count(dead, "dead letter", "dead letters"),
        "They are kept and not tried again by themselves: mend the cause, then retry the group, or discard it with a reason.",
        "/dead-letters",
        "Show dead letters",
    );
    push(
        stats.backlog.held,
        "warn",
        count(stats.backlog.held, "receipt is held as a suspected replay", "receipts are held as suspected replays"),
        "The same bytes came before under another id. Look at each, and release those that are wanted.",
        "/receipts?held=true",
        "Show held receipts",
    );
    let unverified = sum(&stats.total, "unverified");
    push(
        unverified,
        "warn",
        count(unverified, "request had no valid signature", "requests had no valid signature"),
        "If your provider sent them, its secret is not the one configured here; a stranger's are no trouble.",
        "/sources",
        "Show sources and their secrets",
    );
    troubles.extend(destinations(desk).await?);
    troubles.extend(pauses(desk).await?);
    troubles.extend(long_wait(stats));
    Ok(troubles)
}

async fn destinations(desk: &Desk) -> Result<Vec<Trouble>> {
    let failing = desk.destinations().await?.into_iter().filter(|destination| destination.breaker == Breaker::Open);
    let trouble = |destination: crate::operate::DestinationLine| Trouble {
        tone: "bad",
        what: format!(
            "{} fails: {}",
            destination.destination,
            line(destination.last_failure.as_deref().unwrap_or("no answer"))
        ),
        since: destination.last_success_at.map(Moment::of),
        what_to_do: format!(
            "The last attempts failed one after the other. See that {} works; deliveries are tried again by themselves.",
            line(&destination.place)
        ),
        link: format!("/destinations#{}", destination.destination),
        go: "Show the destination",
    };
    Ok(failing.map(trouble).collect())
}

async fn pauses(desk: &Desk) -> Result<Vec<Trouble>> {
    let trouble = |pause: crate::operate::Paused| Trouble {
        tone: "warn",
        what: format!(
            "The {} {} is paused by {}{}",
            pause.kind.as_str(),
            line(&pause.name),
            line(&pause.by),
            pause.reason.as_deref().map(|reason| format!(": {}", line(reason))).unwrap_or_default()
        ),
        since: Some(Moment::of(pause.since)),
        what_to_do: "Its deliveries wait in order until somebody resumes it.".to_owned(),
        link: format!("/destinations#{}", pause.name),
        go: "Show what is paused",
    };
    Ok(desk.pauses().await?.into_iter().map(trouble).collect())
}

fn long_wait(stats: &Stats) -> Option<Trouble> {
    let since = stats.backlog.oldest_waiting_since?;
    if (stats.until - since).num_minutes() < LONG_WAIT_MINUTES {
        return None;
    }
    Some(Trouble {
        tone: "warn",
        what: format!("A delivery has waited for {}", between(since, stats.until)),
        since: Some(Moment::of(since)),
        what_to_do:
            "See whether it is tried again by itself, waits behind a blocked or paused lane, or no worker runs."
                .to_owned(),
        link: "/lanes".to_owned(),
        go: "Show the oldest lanes",
    })
}
