//! The table of exits: takes how a program ended, gives the class that decides what happens next, with a sentence for the
//! operator.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use super::{super::outcome::sentence, output::Output};
use crate::{
    config::CommandDestination,
    domain::{Answer, Outcome, OutcomeClass},
};

/// `EX_TEMPFAIL` of sysexits.h: "not now". Tried again, whatever the configuration says.
const TEMPORARY_FAILURE: i32 = 75;

/// What is added to a signal's number, as shells do, to make a status of it.
const SIGNALLED: i32 = 128;

/// How an attempt with a program came to its end.
pub(super) enum Ending {
    /// The program exited, or was killed by somebody else.
    Exited(ExitStatus),
    /// Its time ran out, and we killed it.
    Late(Duration),
    /// We could not learn how it ended.
    Lost(io::Error),
}

/// The outcome of a program that was started.
///
/// | how it ended | class |
/// |---|---|
/// | exit 0 | succeeded |
/// | exit 75 | failed: tried again |
/// | an exit in `reject_exits` | rejected: a dead letter at once |
/// | another exit | failed: tried again |
/// | killed by a signal | unknown: it may have been done; tried again |
/// | out of time | unknown: as above |
pub(super) fn of_program(ending: Ending, output: Output, reject_exits: &[u8]) -> Outcome {
    let (class, reason, status) = match ending {
        Ending::Exited(exit) => match (exit.code(), exit.signal()) {
            (Some(code), _) => {
                let (class, reason) = of_code(code, reject_exits);
                (class, reason, Some(code))
            }
            (None, signal) => {
                let number = signal.unwrap_or_default();
                let reason = format!("was killed by signal {number}: whether it had done its work is not known");
                (OutcomeClass::Unknown, reason, Some(SIGNALLED + number))
            }
        },
        Ending::Late(limit) => {
            let reason = format!(
                "did not end within {limit:?} and was killed with all that it had started; make `timeout` longer if it \
                 needs more time"
            );
            (OutcomeClass::Unknown, reason, Some(SIGNALLED + KILL))
        }
        Ending::Lost(error) => {
            (OutcomeClass::Unknown, format!("was started, but how it ended is not known: {error}"), None)
        }
    };
    let (body, is_cut) = output.into_kept();
    let status = status.and_then(|status| u16::try_from(status).ok());
    let answer = status.map(|status| Answer { status, body, is_cut });
    Outcome { class, reason: sentence(&reason), answer, retry_after: None }
}

/// The number of SIGKILL on every system.
const KILL: i32 = 9;

fn of_code(code: i32, reject_exits: &[u8]) -> (OutcomeClass, String) {
    match code {
        0 => (OutcomeClass::Succeeded, "exited with 0".to_owned()),
        TEMPORARY_FAILURE => (OutcomeClass::Failed, "exited with 75: it asks to be tried again".to_owned()),
        _ if reject_exits.iter().any(|exit| i32::from(*exit) == code) => {
            (OutcomeClass::Rejected, format!("exited with {code}, which reject_exits lists"))
        }
        _ => {
            (OutcomeClass::Failed, format!("exited with {code}; add it to reject_exits if trying again does not help"))
        }
    }
}

/// The outcome of a program that was not started: nothing has happened, and the delivery waits for the repair.
pub(super) fn not_started(settings: &CommandDestination, error: &io::Error) -> Outcome {
    let (program, directory) = (settings.program.display(), settings.directory.display());
    let advice = match error.kind() {
        _ if !settings.directory.is_dir() => format!("make the folder {directory}, or correct `directory`"),
        io::ErrorKind::NotFound if settings.program.exists() => {
            "it names an interpreter or a loader that is not there: install that, or correct its first line".to_owned()
        }
        io::ErrorKind::NotFound => "install it, or correct `command`".to_owned(),
        io::ErrorKind::PermissionDenied => {
            format!("let Oncehook's user execute it (chmod +x) and enter its folder and {directory}")
        }
        io::ErrorKind::ArgumentListTooLong => "give it fewer or shorter arguments".to_owned(),
        _ => "see whether it starts from a shell".to_owned(),
    };
    let reason = format!("could not start {program}: {error}; {advice}");
    Outcome { class: OutcomeClass::Failed, reason: sentence(&reason), answer: None, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exit_has_its_documented_class() {
        use OutcomeClass::{Failed, Rejected, Succeeded};
        for (code, class) in [(0, Succeeded), (1, Failed), (65, Rejected), (75, Failed), (127, Failed), (255, Failed)] {
            assert_eq!(of_code(code, &[65]).0, class, "{code}");
        }
        assert_eq!(of_code(75, &[75]).0, Failed, "a program that asks for a retry gets one");
    }
}
