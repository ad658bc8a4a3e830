//! The negative controls: what each does to the drill's own database, how large a load shows it, and which check must see it.
//!
//! Each statement fails where the thing that it takes away is not what it was, so that no control becomes harmless unnoticed.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::{Connection as _, PgConnection};

use super::{
    checker::Verdict,
    profile::{Fault, Scale},
};
use crate::sabotage::Sabotage;

/// What is run in the database, one statement after another.
fn statements(control: Sabotage) -> &'static [&'static str] {
    match control {
        // An immediate stop loses what nobody has written yet: nobody shall hurry, so that the loss shows.
        Sabotage::AsynchronousCommit => &[
            "alter system set wal_writer_delay = '10s'",
            "alter system set wal_writer_flush_after = '1GB'",
            "alter system set wal_buffers = '64MB'",
            "alter system set bgwriter_lru_maxpages = 0",
            "alter system set autovacuum = off",
            "select pg_reload_conf()",
        ],
        Sabotage::CheckThenInsert => &[include_str!("check_then_insert.sql")],
        Sabotage::NoFencing => &[include_str!("no_fencing.sql")],
        Sabotage::LargerClaimBatches => &[include_str!("larger_claim_batches.sql")],
        // These are in the processes alone.
        Sabotage::AnswerBeforeCommit | Sabotage::MarkBeforeEffect => &[],
    }
}

/// Switches the safety off in this database, which has the newest schema and nobody in it yet.
///
/// # Errors
/// When the database refuses, or the safety is not there as it was.
pub async fn apply(control: Sabotage, database_url: &str) -> anyhow::Result<()> {
    let mut connection =
        PgConnection::connect(database_url).await.context("failed to connect to the drill's database")?;
    for &statement in statements(control) {
        let done = sqlx::raw_sql(statement).execute(&mut connection).await;
        done.with_context(|| format!("failed to switch off what {} takes away", control.name()))?;
    }
    connection.close().await.context("failed to leave the drill's database")
}
/// How large a load must be for the drill to notice, and what must hit it meanwhile.
pub(super) fn scale(control: Sabotage) -> Scale {
    let (seconds, events, faults): (u64, usize, &[(Fault, usize)]) = match control {
        Sabotage::AnswerBeforeCommit => (10, 1_000, &[(Fault::Kill9, 6), (Fault::PgImmediate, 3)]),
        Sabotage::AsynchronousCommit => (12, 2_000, &[(Fault::PgImmediate, 6)]),
        Sabotage::CheckThenInsert => (6, 1_000, &[]),
        Sabotage::MarkBeforeEffect => (8, 800, &[(Fault::Kill9, 6)]),
        Sabotage::NoFencing => (18, 3_000, &[(Fault::Sigstop, 4)]),
        Sabotage::LargerClaimBatches => (6, 600, &[]),
    };
    Scale {
        nodes: 2,
        load: Duration::from_secs(seconds),
        events,
        connections: 24,
        faults: faults.to_vec(),
        deliveries_min: 0,
    }
}

/// How long the drill waits for what is left. Sabotage may leave work behind for ever, and another check is what matters.
pub(super) const DRAINED_WITHIN: Duration = Duration::from_secs(10);

/// The checks of which at least one must fail. Others may fail too; alone they are not what the control is about.
#[must_use]
pub const fn expected(control: Sabotage) -> &'static [&'static str] {
    match control {
        Sabotage::AnswerBeforeCommit => &["acknowledged is stored"],
        // A mark that is lost lets its attempt be opened, and its destination be called, a second time.
        Sabotage::AsynchronousCommit => &["acknowledged is stored", "extra calls are explained"],
        Sabotage::CheckThenInsert => &["one receipt per event"],
        Sabotage::MarkBeforeEffect => &["no success before its effect"],
        Sabotage::NoFencing => {
            &["extra calls are explained", "one at a time per key", "no duplicate at the ledger", "deliveries add up"]
        }
        Sabotage::LargerClaimBatches => &["one at a time per key", "order per key at the sinks"],
    }
}

/// Whether the drill noticed what was taken away.
pub(super) fn is_caught(control: Sabotage, checks: &[Verdict]) -> bool {
    checks.iter().any(|check| !check.passed && expected(control).contains(&check.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, passed: bool) -> Verdict {
        Verdict { name: name.to_owned(), passed, detail: String::new() }
    }

    #[test]
    fn only_the_check_that_a_control_is_about_catches_it() {
        for control in Sabotage::ALL {
            let [first, ..] = expected(control) else { panic!("{control:?} expects nothing") };
            assert!(is_caught(control, &[check("other", true), check(first, false)]));
            assert!(!is_caught(control, &[check("other", false), check(first, true)]));
            assert!(!is_caught(control, &[]));
        }
    }

    #[test]
    fn the_script_runs_every_control() {
        let script = include_str!("../../../scripts/drill-controls");
        for control in Sabotage::ALL {
            assert!(script.contains(control.name()), "{control:?}");
        }
    }
}
