//! Named steps at which the crash tests (tests/it/crash) kill the process, stop it for a while, or cut its connection. Each does nothing, and none can be switched on,
//! unless the program is built with the feature `failpoints`.
//!
//! | point | what is true when the process dies there |
//! |---|---|
//! | `before_record` | a batch is taken from the queue, and nothing of it is stored |
//! | `after_record` | the batch is committed, and none of its senders has an answer |
//! | `before_answer` | one receipt is committed and known to its handler, and its sender has no answer |
//! | `claimed` | a delivery runs under a lease, its attempt is open |
//! | `before_effect` | the same, in the moment before its destination hears of it |
//! | `after_effect` | the destination has taken it, and the outcome is only in memory |
//! | `before_settle` | the same, with what becomes of the delivery decided |
//! | `before_commit` | an effect in this database, its outcome and the claim of what is next are in one transaction, not committed |
//! | `after_settle` | the outcome is committed, together with the claim of the lane's next delivery or the lane's end |
//! | `before_next_job` | a job has to wait or has spent its budget, and nothing has taken its place |
//! | `after_next_job` | a fresh job has taken its place, and apalis still knows the old one |
//! | `after_job` | a job is through, and apalis has not been told |
//! | `before_rescue` | lanes got fresh jobs in a transaction that is not committed |
//! | `before_publication` | rows of the outbox became receipts in a transaction that is not committed |
//! | `after_publication` | that is committed, and no worker has been rung |
//! | `before_order` | an operator's order is written down as begun, and nothing of it is done |
//! | `after_order` | an operator's order is carried out and committed, and its answer is not kept |
//! | `before_burial` | what a dead process held is set free in a transaction that is not committed |

use crate::store::Result;
#[cfg(feature = "failpoints")]
use crate::store::StoreError;

/// Does what the environment's `FAILPOINTS` says for this step: `name=return` kills the process as `kill -9` does,
/// `name=return(stop)` stops it as SIGSTOP does until somebody sends SIGCONT, and `name=return(error)` gives the error of a
/// connection that broke. A count delays it: `name=3*off->return` acts at the fourth pass and each later one,
/// `name=3*off->1*return(error)` at the fourth only. Does nothing in a normal build.
pub(crate) fn crash_point(name: &'static str) -> Result<()> {
    fail::fail_point!(name, |action| act(name, action.as_deref()));
    // Without the feature the name has no use.
    let _ = name;
    Ok(())
}

/// Reads `FAILPOINTS`. Crash points are armed for as long as the value lives.
#[cfg(feature = "failpoints")]
pub(crate) fn arm() -> fail::FailScenario<'static> {
    fail::FailScenario::setup()
}

#[cfg(feature = "failpoints")]
fn act(name: &str, action: Option<&str>) -> Result<()> {
    use nix::sys::signal::Signal::{SIGKILL, SIGSTOP};
    match action {
        Some("error") => {
            tracing::warn!("crash point {name}: the connection breaks");
            Err(StoreError::lost_connection())
        }
        Some("stop") => {
            signal_self(SIGSTOP);
            Ok(())
        }
        // The kernel ends it here: no destructor, no handler and no buffer gets a turn.
        _ => {
            signal_self(SIGKILL);
            std::process::abort()
        }
    }
}

#[cfg(feature = "failpoints")]
fn signal_self(signal: nix::sys::signal::Signal) {
    let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), signal);
}
