//! The drill's checker is green on a clean run, and goes red on each kind of violation, one planted at a time: a checker that
//! cannot fail proves nothing.

mod requests;
mod scene;
mod work;

use oncehook::drill::checker::Verdict;
use scene::Scene;

#[tokio::test]
async fn a_clean_run_passes_every_check() {
    let verdicts = Scene::clean().verdicts().await;
    assert_eq!(red(&verdicts), Vec::<&str>::new(), "{verdicts:#?}");
    let detail = |name: &str| &verdicts.iter().find(|verdict| verdict.name == name).unwrap().detail;
    assert_eq!(detail("acknowledged is stored"), "4 of 8 requests acknowledged, 2 with an unknown outcome");
    assert_eq!(detail("extra calls are explained"), "8 calls, 2 extra");
    assert_eq!(detail("no effect before its receipt"), "11 effects and calls");
    assert_eq!(detail("order per key at the sinks"), "6 first effects in 6 lanes");
    assert_eq!(detail("one at a time per key"), "9 deliveries in 6 lanes");
    assert_eq!(detail("recovery of a dead worker's work"), "1 recovered, p50 1.80 s, p99 1.80 s");
    assert_eq!(detail("deliveries add up"), "3 receipts, 9 deliveries: 9 succeeded");
}

#[cfg(feature = "sabotage")]
#[tokio::test]
async fn the_checks_that_the_controls_wait_for_are_there() {
    use oncehook::{drill::sabotage::expected, sabotage::Sabotage};
    let verdicts = Scene::clean().verdicts().await;
    for name in Sabotage::ALL.into_iter().flat_map(expected) {
        assert!(verdicts.iter().any(|verdict| verdict.name == *name), "no check is called {name:?}");
    }
}

#[tokio::test]
async fn a_run_without_a_ledger_or_a_plan_can_be_checked() {
    let mut scene = Scene::clean();
    scene.plan = serde_json::json!({});
    scene.sql = "drop schema drill cascade;".to_owned();
    let verdicts = scene.verdicts().await;
    // What went to the ledger is then a success without an effect.
    assert_eq!(red(&verdicts), ["no success before its effect"], "{verdicts:#?}");
}

#[tokio::test]
async fn a_journal_with_a_hole_is_an_error_and_no_verdict() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("sends.jsonl"), "{\"n\":1,\"pha\n{}\n").unwrap();
    let database = crate::support::cluster::fresh_database().await;
    let error = oncehook::drill::checker::check(home.path(), database.url()).await.unwrap_err();
    assert!(format!("{error:#}").contains("sends.jsonl, line 1"), "{error:#}");
}

fn red(verdicts: &[Verdict]) -> Vec<&str> {
    verdicts.iter().filter(|verdict| !verdict.passed).map(|verdict| verdict.name.as_str()).collect()
}

/// The scene with one violation fails these checks and no others, and the first names an offender.
async fn assert_red(scene: Scene, checks: &[&str], offender: &str) {
    let verdicts = scene.verdicts().await;
    assert_eq!(red(&verdicts), checks, "{verdicts:#?}");
    let first = verdicts.iter().find(|verdict| verdict.name == checks[0]).unwrap();
    assert!(first.detail.contains(offender), "{}", first.detail);
}
