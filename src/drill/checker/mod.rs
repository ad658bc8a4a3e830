//! The independent checker: takes what senders, sinks and nemesis wrote down and the final state of the database, and says
//! which promises held.
//!
//! It shares no code with the appliance: plain files and plain SQL only, so that a mistake there cannot hide itself here.
//!
//! One file a question. Each gives [`Verdict`]s with counts and, where something is wrong, the first few offenders with
//! all that is known about them in the order of time.

mod accounting;
mod acknowledged;
mod conflicts;
mod effects;
mod evidence;
mod explained;
mod faults;
mod journal;
mod order;
mod stored;
mod stuck;
mod timeline;

use std::path::Path;

use self::evidence::Evidence;

/// What one check came to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Verdict {
    /// What was asked, as a statement that should hold.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
    /// How much was looked at and, if it does not hold, the first few that break it.
    pub detail: String,
}

/// Offenders that a verdict shows in full. More are counted.
const OFFENDERS_SHOWN: usize = 3;

/// One thing that breaks a rule.
#[derive(Debug, Clone)]
struct Offender {
    /// What is wrong.
    what: String,
    /// Whose story explains it.
    about: About,
}

/// What an offender's timeline is drawn for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    /// All that carried this delivery id.
    Event(String),
    /// One delivery and its event.
    Delivery(String),
    /// The run as a whole.
    Run,
}

/// Checks everything, when the drill is over and nothing writes any more.
///
/// `home` is the drill's folder, with its journals and `drill.json`. The journals must have been written by other processes
/// than those that are checked.
///
/// # Errors
/// When a journal or the database cannot be read: then nothing is proved, and the drill has failed.
pub async fn check(home: &Path, database_url: &str) -> anyhow::Result<Vec<Verdict>> {
    let evidence = Evidence::gather(home, database_url).await?;
    let e = &evidence;
    Ok(vec![
        acknowledged::acknowledged_is_stored(e),
        acknowledged::stored_was_sent(e),
        acknowledged::nothing_forged_is_stored(e),
        acknowledged::one_receipt_per_event(e),
        effects::no_effect_before_its_receipt(e),
        effects::no_success_before_its_effect(e),
        effects::no_duplicate_at_the_ledger(e),
        effects::no_duplicate_at_the_idempotent_sink(e),
        explained::extra_calls_are_explained(e),
        order::effects_in_order(e),
        order::one_at_a_time(e),
        order::ledger_in_order(e),
        conflicts::conflicts_are_kept(e),
        conflicts::conflicts_are_never_run(e),
        accounting::receipts_add_up(e),
        accounting::deliveries_add_up(e),
        accounting::no_unplanned_dead_letters(e),
        stuck::nothing_is_stuck(e),
        faults::planned_faults_were_injected(e),
        faults::recovery(e),
    ])
}

impl Verdict {
    fn of(evidence: &Evidence, name: &str, counts: impl Into<String>, offenders: &[Offender]) -> Self {
        let mut detail = counts.into();
        if !offenders.is_empty() {
            detail.push_str(&format!("; {} broken", offenders.len()));
        }
        for offender in offenders.iter().take(OFFENDERS_SHOWN) {
            detail.push_str("\n  - ");
            detail.push_str(&offender.what);
            for line in timeline::of(evidence, &offender.about) {
                detail.push_str("\n      ");
                detail.push_str(&line);
            }
        }
        Self { name: name.to_owned(), passed: offenders.is_empty(), detail }
    }
}

impl Offender {
    fn event(delivery_id: &str, what: impl Into<String>) -> Self {
        Self { what: what.into(), about: About::Event(delivery_id.to_owned()) }
    }

    fn delivery(delivery: &str, what: impl Into<String>) -> Self {
        Self { what: what.into(), about: About::Delivery(delivery.to_owned()) }
    }

    fn run(what: impl Into<String>) -> Self {
        Self { what: what.into(), about: About::Run }
    }
}
