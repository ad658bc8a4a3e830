//! A process killed at each crash point of `src/crash_point.rs`, and started again.

use super::{
    aftermath::{Effects, assert_all_is_well, number, until_all_is_finished},
    config,
    load::Load,
};
use crate::support::{
    cluster::fresh_database,
    destination::{Reply, TestDestination},
    process::{Process, Site},
    until::until,
};

const LANES: usize = 3;
const EVENTS_EACH: usize = 6;

/// Requests that the destination refuses for now, so that lanes are parked.
const REFUSED: usize = 2;

/// Which process dies.
#[derive(Clone, Copy)]
enum Victim {
    /// One that does everything.
    Serve,
    /// One that runs deliveries, beside one that takes webhooks.
    Work,
}

/// Kills the victim where `failpoints` says, starts it again, lets the provider send again what had no answer, and checks
/// the whole story. Gives how many effects happened that need not have.
async fn survive(victim: Victim, failpoints: &str) -> usize {
    survive_twice(victim, failpoints, None).await
}

/// The same, with a second crash at the start after the first.
async fn survive_twice(victim: Victim, failpoints: &str, second: Option<(&str, &'static str)>) -> usize {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start(vec![Reply::Status(503); REFUSED]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let command = match victim {
        Victim::Serve => "serve",
        Victim::Work => "work",
    };
    let receiver = match victim {
        Victim::Serve => None,
        Victim::Work => Some(site.start(&["serve", "--no-work"]).await),
    };
    let doomed = site.start_doomed(&[command], failpoints).await;
    let mut load = Load::new(LANES, EVENTS_EACH);
    let sender = receiver.as_ref().unwrap_or(&doomed).sender();
    // In two waves, so that there are two batches.
    load.send(&sender, LANES * EVENTS_EACH / 2).await;
    load.send(&sender, usize::MAX).await;
    doomed.until_killed().await;

    if let Some((failpoints, damage)) = second {
        sqlx::raw_sql(damage).execute(&mut conn).await.unwrap();
        site.start_doomed(&[command], failpoints).await.until_killed().await;
    }
    let successor = site.start(&[command]).await;
    load.send_rest(&receiver.as_ref().unwrap_or(&successor).sender()).await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received().split_off(REFUSED));
    let extra = assert_all_is_well(&load, &effects, &mut conn).await;
    stop(successor, receiver).await;
    extra
}

async fn stop(successor: Process, receiver: Option<Process>) {
    successor.stop().await;
    if let Some(receiver) = receiver {
        receiver.stop().await;
    }
}

/// The same crash in a process that does everything and in one that only works.
async fn survive_in_both(failpoints: &str) -> [usize; 2] {
    let (serve, work) = tokio::join!(survive(Victim::Serve, failpoints), survive(Victim::Work, failpoints));
    [serve, work]
}

#[tokio::test]
async fn a_crash_before_a_batch_is_recorded_loses_nothing() {
    assert!(survive(Victim::Serve, "before_record=1*off->return").await <= 1);
}

#[tokio::test]
async fn a_crash_after_a_batch_is_recorded_makes_no_second_receipt() {
    assert!(survive(Victim::Serve, "after_record=1*off->return").await <= 1);
}

#[tokio::test]
async fn a_crash_between_the_receipt_and_its_answer_makes_no_second_receipt() {
    assert!(survive(Victim::Serve, "before_answer=5*off->return").await <= 1);
}

#[tokio::test]
async fn a_crash_of_a_worker_that_has_claimed_repeats_no_effect() {
    assert_eq!(survive_in_both("claimed=4*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_before_the_effect_repeats_no_effect() {
    assert_eq!(survive_in_both("before_effect=5*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_after_the_effect_repeats_it_once_under_the_same_key() {
    assert_eq!(survive_in_both("after_effect=6*off->return").await, [1, 1]);
}

#[tokio::test]
async fn a_crash_before_the_settlement_repeats_the_effect_once_under_the_same_key() {
    assert_eq!(survive_in_both("before_settle=7*off->return").await, [1, 1]);
}

#[tokio::test]
async fn a_crash_after_the_settlement_repeats_no_effect() {
    assert_eq!(survive_in_both("after_settle=8*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_before_a_lane_is_parked_or_handed_over_leaves_it_to_its_old_job() {
    assert_eq!(survive_in_both("before_next_job=2*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_after_a_lane_is_parked_or_handed_over_leaves_it_to_its_new_job() {
    assert_eq!(survive_in_both("after_next_job=2*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_before_apalis_learns_that_a_job_is_through_runs_nothing_again() {
    assert_eq!(survive_in_both("after_job=5*off->return").await, [0, 0]);
}

#[tokio::test]
async fn a_crash_while_lost_jobs_are_made_anew_leaves_no_lane_without_a_job() {
    let second = Some(("before_rescue=return", "delete from apalis.jobs"));
    assert_eq!(survive_twice(Victim::Serve, "before_effect=5*off->return", second).await, 0);
}

#[tokio::test]
async fn a_crash_while_the_dead_are_buried_leaves_them_to_the_next_start() {
    let second = Some(("before_burial=return", "select 1"));
    assert_eq!(survive_twice(Victim::Serve, "before_effect=5*off->return", second).await, 0);
}

#[tokio::test]
async fn a_delivery_that_kills_every_worker_is_a_dead_letter_and_its_lane_goes_on() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start([]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let receiver = site.start(&["serve", "--no-work"]).await;
    let mut load = Load::new(1, 2);
    load.send(&receiver.sender(), 1).await;
    load.send_rest(&receiver.sender()).await;
    // The one without a lane is out of the way.
    sqlx::raw_sql("delete from oncehook.deliveries where route = 'loose'").execute(&mut conn).await.unwrap();
    sqlx::raw_sql("delete from apalis.jobs where id not in (select job_id from oncehook.lanes)")
        .execute(&mut conn)
        .await
        .unwrap();
    for _ in 0..3 {
        site.start_doomed(&["work"], "claimed=return").await.until_killed().await;
    }
    let successor = site.start(&["work"]).await;
    until("the lane is empty", async || number(&mut conn, "select count(*) from oncehook.lanes").await == 0).await;
    let states: Vec<String> =
        sqlx::query_scalar("select state || ' after ' || crashes from oncehook.deliveries order by seq")
            .fetch_all(&mut conn)
            .await
            .unwrap();
    assert_eq!(states, ["dead after 3", "succeeded after 0"]);
    stop(successor, Some(receiver)).await;
}
