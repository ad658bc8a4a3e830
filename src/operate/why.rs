//! Why a receipt went where it went: which secret matched, and what each route says to it.

use chrono::{DateTime, Utc};

use super::{
    Desk, OperateError, Result,
    standing::{Standings, stamp},
    verdict::{Today, verdicts},
};
use crate::{
    config::Config,
    domain::{DeliveryRef, ReceiptId, SourceName},
    store::{
        figure_sums,
        pending::held_since,
        receipt_story::{ReceiptFacts, ReceiptStory, begin_reading, read_payload, tell_receipt_story},
    },
};

/// The reasons.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Why {
    /// The receipt.
    #[schema(value_type = String)]
    pub receipt: ReceiptId,
    /// How it was verified, in a sentence: which secret (its fingerprint) matched and whether that is configured today; or
    /// that the source takes unsigned requests.
    pub verified: String,
    /// How its delivery id, event type, ordering key, event time and version were found, one sentence each.
    pub identified: Vec<String>,
    /// What each route of its source says today. Routes may have changed since: each says whether there is a delivery.
    pub routes: Vec<RouteVerdict>,
    /// Holds, suspected replays, other remarks: one sentence each.
    pub remarks: Vec<String>,
}

/// What one route says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct RouteVerdict {
    /// The route.
    pub route: String,
    /// Whether it matches, as the configuration is now.
    pub matches: bool,
    /// Why, in a sentence.
    pub why: String,
    /// The delivery that was planned when the receipt came in or was replayed.
    #[schema(value_type = Option<String>)]
    pub delivery: Option<DeliveryRef>,
    /// Stale, blocked, paused, waiting behind others: what its delivery is up to, in a sentence.
    pub standing: Option<String>,
}

impl Desk {
    /// Why a receipt went where it went. Runs the routes of today over the payload, if that is still there.
    ///
    /// # Errors
    /// [`OperateError::NotFound`]; those of the database.
    pub async fn why(&self, receipt: ReceiptId) -> Result<Why> {
        let pauses = self.pauses().await?;
        let mut conn = self.pool.acquire().await?;
        let mut tx = begin_reading(&mut conn).await?;
        let story = tell_receipt_story(&mut tx, receipt).await?;
        let story = story.ok_or_else(|| OperateError::NotFound { what: "receipt", name: receipt.to_string() })?;
        let payload = read_payload(&mut tx, receipt).await?;
        let held_since = held_since(&mut tx, receipt).await?;
        let now = figure_sums::now(&mut tx).await?;
        tx.commit().await?;
        drop(conn);

        let blueprint = self.live.load_full();
        let today = Today::look(blueprint.clone(), &story, payload).await;
        let standings = Standings { pauses: &pauses, now };
        let mut identified = identified(&story.facts);
        identified.extend(today.remarks.iter().cloned());
        Ok(Why {
            receipt,
            verified: verified(&blueprint.config, &story.facts),
            identified,
            routes: verdicts(&blueprint.config, &story, &today, &standings),
            remarks: remarks(&story, held_since),
        })
    }
}

fn verified(config: &Config, facts: &ReceiptFacts) -> String {
    let source = config.sources.values().find(|source| source.name.as_str() == facts.source);
    let Some(print) = &facts.secret_fingerprint else {
        let how_today = match source {
            _ if facts.source == SourceName::OUTBOX => {
                return "written into the outbox by a transaction of this database: there is nobody to verify"
                    .to_owned();
            }
            Some(source) if source.scheme.is_some() => "; today the source checks signatures",
            Some(_) => ", as it does today",
            None => "; the configuration has no such source any more",
        };
        return format!("not verified: the source took unsigned requests{how_today}");
    };
    let signed_at = facts.signed_at.map_or(String::new(), |at| format!(", signed at {}", stamp(at)));
    let today = match source {
        None => "the configuration has no such source any more".to_owned(),
        Some(source) => match source.secrets.iter().find(|secret| secret.fingerprint().as_str() == print) {
            None => "which the configuration does not have any more".to_owned(),
            Some(secret) => match source.caller_of(secret.fingerprint()) {
                Some(caller) => format!("which is that of the caller {caller} today"),
                None => "which the source has today".to_owned(),
            },
        },
    };
    format!("verified with the secret {print}{signed_at}, {today}")
}

/// What the row says, and where each provider has it.
fn identified(facts: &ReceiptFacts) -> Vec<String> {
    let time = match (facts.event_time, &facts.event_time_path) {
        (Some(at), Some(path)) => format!("event time {}, read at {path}", stamp(at)),
        (Some(at), None) => format!("event time {}", stamp(at)),
        (None, _) => "no event time: the payload has none that the provider's table knows".to_owned(),
    };
    let key = facts.ordering_key.as_ref();
    vec![
        format!("delivery id {}: one receipt for each", facts.delivery_id),
        format!("event type {}: what the patterns of routes look at", facts.event_type),
        key.map_or("no ordering key in the provider's table".to_owned(), |key| {
            format!("ordering key {key}, by the provider's table")
        }),
        time,
        facts.version.as_ref().map_or("no version: it can be stale against nothing".to_owned(), |version| {
            format!("version {version}: what order = \"event\" goes by")
        }),
    ]
}

fn remarks(story: &ReceiptStory, held_since: Option<DateTime<Utc>>) -> Vec<String> {
    let held = held_since.map(|since| {
        format!("held as a suspected replay since {}: release it to have its deliveries planned", stamp(since))
    });
    let count = |kind: &str| -> i64 {
        let its = story.later_arrivals.iter().filter(|arrival| arrival.kind == kind);
        its.map(|arrival| 1 + i64::from(arrival.repeats)).sum()
    };
    let again = |number: i64, what: &str| match number {
        ..=0 => None,
        1 => Some(format!("came once more {what}")),
        many => Some(format!("came {many} more times {what}")),
    };
    let duplicates = again(count("duplicate"), "with the same payload: nothing ran again for it, but what was dead");
    let conflicts = again(count("conflict"), "with another payload: each is kept as a conflict, and none was run");
    held.into_iter().chain(story.facts.flags.iter().cloned()).chain(duplicates).chain(conflicts).collect()
}
