//! Sources: how they are set up, and what came in.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Desk, OperateError, Result};
use crate::{
    config::{Config, Source},
    domain::Secret,
    store::{
        figure_sums::{self, FigureRange, FigureSum, Which},
        source_facts::{SecretUseRow, last_receipts, list_secret_uses},
    },
};

/// A secret that is not used for so long while another one of its owner is has been replaced.
const REPLACED_AFTER: TimeDelta = TimeDelta::days(1);

/// One source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct SourceLine {
    /// Its name.
    pub source: String,
    /// Who sends.
    pub provider: String,
    /// Its path on the intake port.
    pub path: String,
    /// How requests are signed; `None`: they are not.
    pub scheme: Option<String>,
    /// What becomes of suspected replays: off, flag, hold, reject.
    pub replay_guard: String,
    /// Its secrets with their last use: those that the configuration has no more, then those that it has, in its order.
    pub secrets: Vec<SecretUse>,
    /// Routes that take from it.
    pub routes: Vec<String>,
    /// When its last receipt came in; `None`: none ever did.
    pub last_receipt_at: Option<DateTime<Utc>>,
    /// Requests in the last 24 hours, by what they came to: accepted, duplicate, conflict, unverified, …
    pub last_day: Vec<(String, i64)>,
}

/// One secret of a source.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct SecretUse {
    /// Names it without showing it.
    pub fingerprint: String,
    /// Whose it is, for an `api` source.
    pub caller: Option<String>,
    /// Whether the configuration has it now.
    pub is_configured: bool,
    /// When it first verified a request.
    pub first_used_at: Option<DateTime<Utc>>,
    /// When it last did; to about 10 seconds.
    pub last_used_at: Option<DateTime<Utc>>,
    /// Requests that it verified.
    pub uses: i64,
    /// What that means, in a sentence: `in use`, `not used yet`, `not used since …: safe to drop`.
    pub advice: String,
}

impl Desk {
    /// All sources of the configuration, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sources(&self) -> Result<Vec<SourceLine>> {
        let config = self.live.load().config.clone();
        self.source_lines(&config, config.sources.values().collect()).await
    }

    /// One source.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn source(&self, name: &str) -> Result<SourceLine> {
        let config = self.live.load().config.clone();
        let source = config.sources.values().filter(|source| source.name.as_str() == name).collect();
        let line = self.source_lines(&config, source).await?.pop();
        line.ok_or_else(|| OperateError::NotFound { what: "source", name: name.to_owned() })
    }

    async fn source_lines(&self, config: &Config, sources: Vec<&Source>) -> Result<Vec<SourceLine>> {
        let mut conn = self.pool.acquire().await?;
        let names: Vec<String> = sources.iter().map(|source| source.name.to_string()).collect();
        let last_receipts = last_receipts(&mut conn, &names).await?;
        let uses = list_secret_uses(&mut conn).await?;
        let now = figure_sums::now(&mut conn).await?;
        let day = day_until(now, if names.len() == 1 { Which::One(&names[0]) } else { Which::All });
        let sums = figure_sums::sum_figures(&mut conn, day).await?;
        drop(conn);
        let lines = sources.into_iter().zip(last_receipts).map(|(source, last_receipt_at)| SourceLine {
            source: source.name.to_string(),
            provider: source.provider.to_string(),
            path: format!("/hooks/{}", source.name),
            scheme: source.scheme.map(|scheme| scheme.as_str().to_owned()),
            replay_guard: source.replay_guard.as_str().to_owned(),
            secrets: secrets_of(source, &uses),
            routes: routes_from(config, source),
            last_receipt_at,
            last_day: last_day_of(source, &sums),
        });
        Ok(lines.collect())
    }
}

/// The 24 hours before now, by minutes, as one sum.
fn day_until(now: DateTime<Utc>, sources: Which<'_>) -> FigureRange<'_> {
    let since = now - TimeDelta::days(1);
    // Not a multiple of an hour, so that the rows of minutes are read: those of hours would add up to an hour too much.
    FigureRange { since, until: now, step_seconds: 2 * 86_400 + 60, sources, destinations: Which::None }
}

fn routes_from(config: &Config, source: &Source) -> Vec<String> {
    config.routes.iter().filter(|route| route.source == source.name).map(|route| route.name.to_string()).collect()
}

fn last_day_of(source: &Source, sums: &[FigureSum]) -> Vec<(String, i64)> {
    let its = sums.iter().filter(|sum| sum.is_source && !sum.is_time && sum.name == source.name.as_str());
    let mut counts: Vec<_> = its.map(|sum| (sum.what.clone(), sum.count)).collect();
    counts.sort_by(|(one, first), (other, second)| second.cmp(first).then(one.cmp(other)));
    counts
}

/// Secrets that the configuration has no more, then those that it has, in its order.
fn secrets_of(source: &Source, uses: &[SecretUseRow]) -> Vec<SecretUse> {
    let its: Vec<_> = uses.iter().filter(|row| row.source == source.name.as_str()).collect();
    let used = |print: &str| its.iter().find(|row| row.fingerprint == print).copied();
    let is_configured = |print: &str| source.secrets.iter().any(|secret| secret.fingerprint().as_str() == print);
    let gone = its.iter().filter(|row| !is_configured(&row.fingerprint)).map(|row| SecretUse {
        fingerprint: row.fingerprint.clone(),
        caller: None,
        is_configured: false,
        first_used_at: Some(row.first_used_at),
        last_used_at: Some(row.last_used_at),
        uses: row.uses,
        advice: "not in the configuration any more".to_owned(),
    });
    let configured = source.secrets.iter().map(|secret| {
        let print = secret.fingerprint();
        let row = used(print.as_str());
        let caller = source.caller_of(print);
        // Of an api source each caller has secrets of its own: what others use says nothing.
        let others = source.secrets.iter().map(Secret::fingerprint);
        let others = others.filter(|other| *other != print && source.caller_of(other) == caller);
        SecretUse {
            fingerprint: print.to_string(),
            caller: caller.map(ToString::to_string),
            is_configured: true,
            first_used_at: row.map(|row| row.first_used_at),
            last_used_at: row.map(|row| row.last_used_at),
            uses: row.map_or(0, |row| row.uses),
            advice: advice(row, others.filter_map(|other| used(other.as_str()))),
        }
    });
    gone.chain(configured).collect()
}

/// What to do with a configured secret, by its own uses and those of the others of its owner.
fn advice<'r>(its: Option<&SecretUseRow>, others: impl Iterator<Item = &'r SecretUseRow>) -> String {
    let Some(its) = its else { return "not used yet".to_owned() };
    let successor = others.max_by_key(|other| other.last_used_at);
    match successor.filter(|other| other.last_used_at - its.last_used_at > REPLACED_AFTER) {
        Some(other) => format!(
            "not used since {}, while {} is: safe to drop",
            its.last_used_at.format("%Y-%m-%d %H:%M UTC"),
            other.fingerprint
        ),
        None => "in use".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fingerprint: &str, last_used: &str) -> SecretUseRow {
        let last_used_at = last_used.parse().unwrap();
        let (source, fingerprint) = ("github".to_owned(), fingerprint.to_owned());
        SecretUseRow { source, fingerprint, first_used_at: last_used_at, last_used_at, uses: 1 }
    }

    #[test]
    fn a_secret_is_safe_to_drop_a_day_after_another_has_taken_its_place() {
        let old = row("old", "2026-01-05T10:00:00Z");
        let advice_beside = |last_used| advice(Some(&old), [row("new", last_used)].iter());
        assert_eq!(advice(Some(&old), [].iter()), "in use");
        assert_eq!(advice_beside("2026-01-06T10:00:00Z"), "in use");
        assert_eq!(
            advice_beside("2026-01-06T10:00:01Z"),
            "not used since 2026-01-05 10:00 UTC, while new is: safe to drop"
        );
        assert_eq!(advice(None, [old].iter()), "not used yet");
    }
}
