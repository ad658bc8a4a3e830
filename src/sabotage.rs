//! Safeties that can be switched off, one at a time, to see that the drill notices: a check that is never red proves nothing.
//!
//! Only with the feature `sabotage`, which is not there in a release build; `ONCEHOOK_SABOTAGE` names the one.
//!
//! | name | what it takes away | where |
//! |---|---|---|
//! | `answer_before_commit` | the answer waits for the commit (P1) | `record` |
//! | `asynchronous_commit` | the commit waits for the disk (P1) | `store::connect`, `store::boot_check` |
//! | `check_then_insert` | the unique identity of receipts (P3) | the drill's database |
//! | `mark_before_effect` | a success is written down after its effect (P5) | `run::drain` |
//! | `no_fencing` | only the holder of a lease may settle, and it may be taken only when it is over (P5, P6) | the drill's database |
//! | `larger_claim_batches` | one delivery of a lane runs at a time (P6) | `run::workers`, the drill's database |

#[cfg(not(debug_assertions))]
compile_error!("the feature `sabotage` takes promises away and must not be in a release build: leave it out");

use std::sync::OnceLock;

use crate::config::Environment;

/// One safety, switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Sabotage {
    /// The recorder says "accepted" when a request has got into its queue.
    AnswerBeforeCommit,
    /// Sessions have `synchronous_commit = off`.
    AsynchronousCommit,
    /// Nothing but a look beforehand keeps an event from being recorded twice.
    CheckThenInsert,
    /// A delivery is marked as succeeded, and then run.
    MarkBeforeEffect,
    /// Tokens, owners and live leases count for nothing.
    NoFencing,
    /// Two deliveries of a lane are claimed and run at once.
    LargerClaimBatches,
}

impl Sabotage {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::AnswerBeforeCommit,
        Self::AsynchronousCommit,
        Self::CheckThenInsert,
        Self::MarkBeforeEffect,
        Self::NoFencing,
        Self::LargerClaimBatches,
    ];

    /// What `ONCEHOOK_SABOTAGE` and `oncehook drill --control` call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnswerBeforeCommit => "answer_before_commit",
            Self::AsynchronousCommit => "asynchronous_commit",
            Self::CheckThenInsert => "check_then_insert",
            Self::MarkBeforeEffect => "mark_before_effect",
            Self::NoFencing => "no_fencing",
            Self::LargerClaimBatches => "larger_claim_batches",
        }
    }
}

/// Whether this one was chosen for this process.
pub(crate) fn is_on(one: Sabotage) -> bool {
    static CHOSEN: OnceLock<Option<Sabotage>> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let environment = Environment::of_process();
        let name = environment.sabotage()?;
        tracing::warn!(name, "a safety is switched off: what this process promises does not hold");
        Sabotage::ALL.into_iter().find(|known| known.name() == name)
    }) == Some(one)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn nothing_is_switched_off_unless_it_was_asked_for() {
        assert!(Sabotage::ALL.into_iter().all(|one| !is_on(one)));
    }

    #[test]
    fn the_command_line_and_the_environment_use_the_same_names() {
        assert_eq!(Sabotage::value_variants(), Sabotage::ALL);
        for one in Sabotage::ALL {
            assert_eq!(one.to_possible_value().unwrap().get_name(), one.name());
        }
    }
}
