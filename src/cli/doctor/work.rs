//! Work: whether anybody does it, and what lies about: dead letters, blocked lanes, old deliveries, held receipts, pauses.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;

use super::finding::Finding;
use crate::{
    cli::{output::count, stamp::short_stamp},
    config::Config,
    operate::Backlog,
    store::{
        self,
        doctor_facts::{WorkerFacts, worker_facts},
        figure_sums,
    },
};

/// Heart-beats that a live worker may miss, as in `run/workers.rs`.
const HEARTBEATS_MISSED: f64 = 4.0;

/// Longer than a delivery waits where all is well.
const WAIT_MAX: TimeDelta = TimeDelta::minutes(5);

/// All about workers and what waits for them.
///
/// # Errors
/// When the database cannot be asked.
pub(super) async fn examine(config: &Config, pool: &PgPool) -> store::Result<Vec<Finding>> {
    let mut conn = pool.acquire().await?;
    let overdue = HEARTBEATS_MISSED * config.run.heartbeat.as_secs_f64().max(1.0);
    let workers = worker_facts(&mut conn, overdue).await?;
    let backlog = Backlog::look(&mut conn).await?;
    let now = figure_sums::now(&mut conn).await?;
    Ok(of_workers(&workers, unfinished(&backlog)).into_iter().chain(of_backlog(&backlog, now)).collect())
}

fn unfinished(backlog: &Backlog) -> i64 {
    backlog.deliveries.iter().filter(|(state, _)| *state != "dead").map(|(_, count)| count).sum()
}

fn of_workers(workers: &WorkerFacts, unfinished: i64) -> Vec<Finding> {
    let last_seen = workers
        .last_seen
        .map_or("none was ever seen".to_owned(), |at| format!("the last was seen at {} UTC", short_stamp(at)));
    let start = "start oncehook serve or oncehook work";
    let mut findings = vec![match (workers.alive, unfinished) {
        (0, 0) => Finding::note("workers", format!("no worker is alive, {last_seen}; nothing waits"), start),
        (0, waiting) => {
            let waiting = count_of(waiting, "delivery waits", "deliveries wait");
            Finding::problem("workers", format!("{waiting} and no worker is alive: {last_seen}"), start)
        }
        (alive, _) => Finding::ok("workers", format!("{} alive", count_of(alive, "worker is", "workers are"))),
    }];
    if workers.dead_with_jobs > 0 {
        let dead = count_of(workers.dead_with_jobs, "worker that is", "workers that are");
        let found = format!("{dead} not alive any more still hold jobs");
        let instead =
            "a live worker takes them over within a minute; if none does, start oncehook serve or oncehook work";
        findings.push(Finding::warning("workers", found, instead));
    }
    findings
}

fn of_backlog(backlog: &Backlog, now: DateTime<Utc>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let dead = backlog.deliveries.get("dead").copied().unwrap_or_default();
    if dead > 0 {
        let found = count_of(dead, "dead letter", "dead letters");
        let instead = "oncehook dead-letters lists them by error; retry them once the cause is gone, or discard them";
        findings.push(Finding::warning("dead letters", found, instead));
    }
    if backlog.blocked_lanes > 0 {
        let found = format!("{} blocked by a dead delivery", count_of(backlog.blocked_lanes, "lane is", "lanes are"));
        let instead = "oncehook lanes --blocked lists them; retry or discard the dead delivery, or unblock the lane";
        findings.push(Finding::warning("lanes", found, instead));
    }
    match backlog.oldest_waiting_since {
        Some(since) if now - since > WAIT_MAX => {
            let found = format!(
                "{} unfinished, the oldest since {} UTC",
                count_of(unfinished(backlog), "delivery is", "deliveries are"),
                short_stamp(since)
            );
            let instead = "oncehook lanes shows what holds them up: a destination that fails, a pause, a blocked lane, or too few \
                           workers (run.concurrency)";
            findings.push(Finding::warning("waiting", found, instead));
        }
        _ => findings.push(Finding::ok("waiting", "no delivery waits for longer than 5 minutes")),
    }
    if backlog.held > 0 {
        let found = format!("{} held as suspected replays", count_of(backlog.held, "receipt is", "receipts are"));
        let instead = "look at each with oncehook receipts; release it if it is meant to run";
        findings.push(Finding::warning("held receipts", found, instead));
    }
    findings
}

fn count_of(number: i64, one: &str, many: &str) -> String {
    count(usize::try_from(number).unwrap_or_default(), one, many)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::finding::Severity;

    fn workers(alive: i64, dead_with_jobs: i64) -> WorkerFacts {
        WorkerFacts { alive, dead_with_jobs, last_seen: None }
    }

    fn severities(findings: &[Finding]) -> Vec<(&str, Severity)> {
        findings.iter().map(|finding| (finding.check, finding.severity)).collect()
    }

    #[test]
    fn nobody_who_works_is_a_problem_only_while_something_waits() {
        assert_eq!(severities(&of_workers(&workers(0, 0), 0)), [("workers", Severity::Note)]);
        assert_eq!(severities(&of_workers(&workers(0, 0), 1)), [("workers", Severity::Problem)]);
        let stale = of_workers(&workers(2, 1), 1);
        assert_eq!(severities(&stale), [("workers", Severity::Ok), ("workers", Severity::Warning)]);
    }

    #[test]
    fn what_lies_about_is_a_warning_each() {
        let now: DateTime<Utc> = "2026-01-05T10:00:00Z".parse().unwrap();
        let oldest_waiting_since = Some(now - TimeDelta::minutes(6));
        let deliveries = [("dead".to_owned(), 2), ("retrying".to_owned(), 1)].into();
        let findings = of_backlog(&Backlog { deliveries, oldest_waiting_since, blocked_lanes: 1, held: 3 }, now);
        let checks = ["dead letters", "lanes", "waiting", "held receipts"];
        assert_eq!(severities(&findings), checks.map(|check| (check, Severity::Warning)));
        assert!(findings[2].found.starts_with("1 delivery is unfinished"), "{}", findings[2].found);
        let recent = Some(now - TimeDelta::minutes(4));
        let fine = Backlog { deliveries: [].into(), oldest_waiting_since: recent, blocked_lanes: 0, held: 0 };
        assert_eq!(severities(&of_backlog(&fine, now)), [("waiting", Severity::Ok)]);
    }
}
