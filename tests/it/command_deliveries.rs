//! Commands at the end of a route: order, retries, dead letters and shutdown are theirs as they are everybody's.

use chrono::TimeDelta;
use oncehook::run::drain_due;

use crate::support::{app::TestApp, lifeline::Lifeline};

/// One route to a command; `script` is the shell's.
fn config(script: &str) -> String {
    let command = format!("kind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\nreject_exits = [65]");
    let destination = TestApp::config_with("[destinations.script]", &command);
    let config = destination.replace(
        "name = \"github-demo\"\nsource = \"github\"\nevents = [\"*\"]\ndestination = \"demo\"",
        "name = \"run\"\nsource = \"github\"\nevents = [\"*\"]\ndestination = \"script\"",
    );
    assert!(config.contains("name = \"run\""));
    format!("allow_commands = true\n{config}")
}

async fn column(app: &TestApp, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(&mut app.database().await).await.unwrap()
}

#[tokio::test]
async fn a_command_that_asks_for_it_is_run_again_under_the_same_key_and_its_lane_keeps_its_order() {
    let script = "echo \"$ONCEHOOK_DELIVERY $ONCEHOOK_ATTEMPT\"; [ $ONCEHOOK_ATTEMPT = 3 ] || exit 75";
    let app = TestApp::start_from(&config(script)).await;
    for _ in 0..2 {
        app.sender().push("main").send().await;
    }
    for _ in 0..6 {
        app.run_until_idle().await;
        app.advance(TimeDelta::hours(1)).await;
    }
    assert_eq!(app.states().await, [("succeeded".to_owned(), 2)]);
    let said =
        column(&app, "select convert_from(answer_body, 'UTF8') from oncehook.attempts order by started_at, id").await;
    let keys: Vec<&str> = said.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert!(keys[0].starts_with("dlv_") && keys[0] != keys[5], "{said:?}");
    assert_eq!(said, (0..6).map(|n| format!("{} {}\n", keys[n / 3 * 3], n % 3 + 1)).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_exit_in_reject_exits_makes_a_dead_letter_that_says_why() {
    let app = TestApp::start_from(&config("echo no such customer; exit 65")).await;
    app.sender().push("main").send().await;
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("dead".to_owned(), 1)]);
    let why = column(&app, "select last_error from oncehook.deliveries").await.remove(0);
    assert!(why.contains("exited with 65, which reject_exits lists"), "{why}");
    assert_eq!(app.count("select count(*) from oncehook.attempts where answer_status = 65").await, 1);
}

#[tokio::test]
async fn a_shutdown_kills_the_command_and_puts_its_delivery_back() {
    let mut lifeline = Lifeline::new();
    let mut app = TestApp::start_from(&config(&lifeline.held_by("(sleep 1000 &) ; $up; sleep 1000"))).await;
    app.may_leave_work();
    app.sender().push("main").send().await;
    let context = app.app().context().clone();
    let stop = context.stop.clone();
    let draining = tokio::spawn(async move { drain_due(&context, "host/1/w").await.unwrap() });
    lifeline.until_up().await;
    stop.finish();
    stop.let_go();
    assert_eq!(draining.await.unwrap(), 1);
    lifeline.until_all_are_gone().await;
    assert_eq!(app.states().await, [("queued".to_owned(), 1)]);
    assert_eq!(app.count("select count(*) from oncehook.attempts where outcome = 'unknown'").await, 1);
}
