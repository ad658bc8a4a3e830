//! One attempt with a command that behaves, misbehaves, or cannot be started. Each ending has its documented class, and
//! nothing that it started is left.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use oncehook::{
    clock::Clock,
    config::{CommandDestination, DestinationKind},
    deliver::Parcel,
    domain::{ANSWER_KEPT_BYTES, Outcome, OutcomeClass},
};

use crate::support::{
    lifeline::Lifeline,
    parcel::{AMPLE, destinations, name, parcel},
};

/// For what is to run out; long enough for a shell to start in on a busy machine.
const SHORT: Duration = Duration::from_secs(2);

fn program(argv: &[&str]) -> CommandDestination {
    CommandDestination {
        program: argv[0].into(),
        arguments: argv[1..].iter().map(|&argument| argument.into()).collect(),
        directory: "/".into(),
        environment: [("GREETING".to_owned(), "hello $HOME".to_owned().into())].into(),
        timeout: AMPLE,
        reject_exits: vec![65],
    }
}

fn shell(script: &str) -> CommandDestination {
    program(&["/bin/sh", "-c", script])
}

async fn deliver(settings: CommandDestination, parcel: &Parcel) -> Outcome {
    destinations(DestinationKind::Command(settings), &Clock::system()).deliver(&name(), parcel).await
}

async fn attempt(settings: CommandDestination) -> Outcome {
    deliver(settings, &parcel()).await
}

/// What a command wrote.
fn output(outcome: &Outcome) -> String {
    String::from_utf8(outcome.answer.as_ref().unwrap().body.to_vec()).unwrap()
}

/// More than any pipe holds.
fn large_parcel() -> Parcel {
    Parcel { body: Bytes::from(vec![b'x'; 5 << 20]), ..parcel() }
}

#[tokio::test]
async fn each_exit_ends_an_attempt_in_its_documented_class() {
    use OutcomeClass::{Failed, Rejected, Succeeded, Unknown};
    for (script, class, status) in [
        ("exit 0", Succeeded, 0),
        ("exit 1", Failed, 1),
        ("exit 65", Rejected, 65),
        ("exit 75", Failed, 75),
        ("exit 255", Failed, 255),
        ("no-such-program-anywhere", Failed, 127),
        ("kill -KILL $$", Unknown, 137),
        ("kill -TERM $$", Unknown, 143),
    ] {
        let outcome = attempt(shell(script)).await;
        assert_eq!(outcome.class, class, "{script}: {outcome:?}");
        assert_eq!(outcome.answer.as_ref().unwrap().status, status, "{script}");
        let told = if class == Unknown { status - 128 } else { status };
        assert!(outcome.reason.contains(&told.to_string()), "{}", outcome.reason);
    }
}

#[tokio::test]
async fn the_body_comes_in_byte_by_byte_and_what_is_written_is_kept_in_its_order() {
    let body: Vec<u8> = (0..=255).collect();
    let outcome = deliver(shell("exec cat"), &Parcel { body: body.clone().into(), ..parcel() }).await;
    assert_eq!(outcome.answer.unwrap().body, body);
    let outcome = attempt(shell("echo one; echo two >&2; echo three; exit 3")).await;
    assert_eq!((outcome.class, output(&outcome)), (OutcomeClass::Failed, "one\ntwo\nthree\n".into()));
}

#[tokio::test]
async fn a_command_sees_its_delivery_and_nothing_of_our_environment() {
    let mut parcel = Parcel { attempt: 7, is_stale: true, ..parcel() };
    let outcome = deliver(program(&["/usr/bin/env"]), &parcel).await;
    let seen: BTreeSet<String> = output(&outcome).lines().map(str::to_owned).collect();
    let expected = [
        "GREETING=hello $HOME".to_owned(),
        "ONCEHOOK_ATTEMPT=7".to_owned(),
        format!("ONCEHOOK_DELIVERY={}", parcel.delivery),
        format!("ONCEHOOK_DELIVERY_ID={}", parcel.delivery_id),
        "ONCEHOOK_EVENT=push".to_owned(),
        "ONCEHOOK_ORDERING_KEY=repository/1".to_owned(),
        format!("ONCEHOOK_PAYLOAD_BYTES={}", parcel.body.len()),
        format!("ONCEHOOK_RECEIPT={}", parcel.receipt),
        "ONCEHOOK_SOURCE=github".to_owned(),
        "ONCEHOOK_STALE=true".to_owned(),
        "PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
    ];
    assert_eq!(seen, BTreeSet::from(expected));
    parcel.ordering_key = None;
    assert!(!output(&deliver(program(&["/usr/bin/env"]), &parcel).await).contains("ORDERING_KEY"));
}

#[tokio::test]
async fn no_shell_reads_the_arguments() {
    let arguments = ["$(id)", "`id`", "; exit 1", "* ?", "a b", "", "'\"\\", "$HOME", "&& false | x > /y", "é\n"];
    let argv: Vec<&str> = ["/usr/bin/env", "printf", "%s|"].into_iter().chain(arguments).collect();
    let outcome = attempt(program(&argv)).await;
    assert_eq!(output(&outcome), arguments.map(|argument| format!("{argument}|")).concat());
}

#[tokio::test]
async fn a_command_runs_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().canonicalize().unwrap();
    let outcome = attempt(CommandDestination { directory: directory.clone(), ..shell("pwd") }).await;
    assert_eq!(output(&outcome).trim(), directory.to_str().unwrap());
}

#[tokio::test]
async fn a_command_that_does_not_read_its_input_fails_for_no_other_reason() {
    for script in ["exit 0", "exec <&-; exit 0", "head -c 1 >/dev/null", "exec <&-; head -c 1000000 /dev/zero"] {
        let outcome = deliver(shell(script), &large_parcel()).await;
        assert_eq!(outcome.class, OutcomeClass::Succeeded, "{script}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_flood_is_cut_and_holds_nobody_up() {
    for script in ["head -c 50000000 /dev/zero", "head -c 1000000 /dev/zero; cat >/dev/null", "cat; cat /dev/null"] {
        let outcome = deliver(shell(script), &large_parcel()).await;
        let answer = outcome.answer.as_ref().unwrap();
        let kept = (outcome.class, answer.is_cut, answer.body.len());
        assert_eq!(kept, (OutcomeClass::Succeeded, true, ANSWER_KEPT_BYTES), "{script}");
    }
    let outcome = attempt(CommandDestination { timeout: SHORT, ..shell("while :; do echo x; done") }).await;
    assert_eq!((outcome.class, outcome.answer.unwrap().is_cut), (OutcomeClass::Unknown, true));
    let exact = format!("head -c {ANSWER_KEPT_BYTES} /dev/zero");
    let answer = attempt(shell(&exact)).await.answer.unwrap();
    assert_eq!((answer.body.len(), answer.is_cut), (ANSWER_KEPT_BYTES, false));
}

#[tokio::test]
async fn the_deadline_kills_a_command_with_all_that_it_started() {
    let mut lifeline = Lifeline::new();
    // It ignores what can be ignored, and so do its children.
    let script = "trap '' TERM INT HUP; (sleep 1000 & sleep 1000) & echo begun; $up; sleep 1000; echo over";
    let outcome = attempt(CommandDestination { timeout: SHORT, ..shell(&lifeline.held_by(script)) }).await;
    lifeline.until_up().await;
    lifeline.until_all_are_gone().await;
    assert_eq!(outcome.class, OutcomeClass::Unknown, "{outcome:?}");
    assert!(outcome.reason.contains("did not end within 2s"), "{}", outcome.reason);
    assert_eq!((outcome.answer.as_ref().unwrap().status, output(&outcome)), (137, "begun\n".into()));
}

#[tokio::test]
async fn what_a_command_leaves_running_is_killed_when_it_exits() {
    for (script, class) in [("exit 0", OutcomeClass::Succeeded), ("exit 1", OutcomeClass::Failed)] {
        let mut lifeline = Lifeline::new();
        let script = lifeline.held_by(&format!("sleep 1000 & (sleep 1000 & sleep 1000) & echo begun; $up; {script}"));
        let outcome = attempt(shell(&script)).await;
        assert_eq!((outcome.class, output(&outcome)), (class, "begun\n".into()), "{outcome:?}");
        lifeline.until_up().await;
        lifeline.until_all_are_gone().await;
    }
}

#[tokio::test]
async fn what_has_left_the_process_group_is_not_waited_for() {
    let outcome = attempt(shell("setsid sleep 20 & echo begun; exit 0")).await;
    assert_eq!((outcome.class, output(&outcome)), (OutcomeClass::Succeeded, "begun\n".into()), "{outcome:?}");
}

#[tokio::test]
async fn an_attempt_that_is_given_up_kills_the_command_before_it_can_take_half_a_body_for_a_whole_one() {
    let mut lifeline = Lifeline::new();
    let script = lifeline.held_by("sleep 1000 & head -c 10 >/dev/null; $up; cat >/dev/null; touch $folder/took-it");
    // More than the test's patience would carry: the feeding is under way when the attempt is dropped.
    let parcel = Parcel { body: Bytes::from(vec![b'x'; 512 << 20]), ..parcel() };
    tokio::select! {
        outcome = deliver(shell(&script), &parcel) => panic!("{outcome:?}"),
        () = lifeline.until_up() => {}
    }
    lifeline.until_all_are_gone().await;
    assert!(!lifeline.has("took-it"));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_fails_the_attempt_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("plain"), "exit 0").unwrap();
    std::fs::write(path("orphan"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path("orphan"), mode).unwrap();
    let away = CommandDestination { directory: path("away").into(), ..shell("exit 0") };
    for (settings, told) in [
        (program(&[&path("missing")]), "install it, or correct `command`"),
        (program(&[&path("plain")]), "chmod +x"),
        (program(&[&path("orphan")]), "interpreter"),
        (program(&["/"]), "chmod +x"),
        (away, "make the folder"),
        (program(&["/bin/echo", &"x".repeat(1 << 20)]), "shorter arguments"),
        (program(&["/bin/echo", "a\0b"]), "could not start /bin/echo"),
    ] {
        let outcome = attempt(settings).await;
        assert_eq!((outcome.class, &outcome.answer), (OutcomeClass::Failed, &None), "{outcome:?}");
        assert!(outcome.reason.contains(told), "{}", outcome.reason);
    }
}
