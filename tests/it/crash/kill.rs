//! `kill -9` from outside, at no chosen moment.

use super::{
    aftermath::{Effects, assert_all_is_well, number, until_all_is_finished},
    config,
    load::Load,
};
use crate::support::{
    cluster::fresh_database,
    destination::{Reply, TestDestination},
    process::Site,
    until::until,
};

#[tokio::test]
async fn a_worker_beside_finishes_what_a_killed_one_held() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start([Reply::Hang]).await;
    let site = Site::new(&config(&destination.url()), database.url());
    let receiver = site.start(&["serve", "--no-work"]).await;
    let victim = site.start(&["work"]).await;
    let mut load = Load::new(2, 4);
    load.send_rest(&receiver.sender()).await;
    destination.wait_for(1).await;
    let survivor = site.start(&["work"]).await;
    // The victim's delivery runs for as long as it lives. Where no other runs and none waits but behind it, the survivor has
    // done all that it may.
    let running_or_elsewhere = "select count(*) from oncehook.deliveries d where state = 'running'
        or finished_at is null and not exists (
            select from oncehook.deliveries r
            where r.state = 'running' and r.route = d.route and r.ordering_key = d.ordering_key)";
    until("other lanes go on", async || number(&mut conn, running_or_elsewhere).await == 1).await;
    victim.kill().await;

    until_all_is_finished(&mut conn).await;
    // The first request was never answered.
    let effects = Effects(destination.received().split_off(1));
    assert_eq!(assert_all_is_well(&load, &effects, &mut conn).await, 0);
    assert_eq!(number(&mut conn, "select sum(crashes)::int8 from oncehook.deliveries").await, 1);
    survivor.stop().await;
    receiver.stop().await;
}

#[tokio::test]
async fn a_process_killed_again_and_again_under_load_loses_nothing_and_keeps_the_order() {
    let database = fresh_database().await;
    let mut conn = database.connect().await;
    let destination = TestDestination::start([]).await;
    let settings = config(&destination.url()).replace("concurrency = 1", "concurrency = 8\ncrashes_max = 100");
    let site = Site::new(&settings, database.url());
    let mut load = Load::new(5, 24);
    let rounds = 6;
    for round in 1..=rounds {
        let process = site.start(&["serve"]).await;
        let sender = process.sender();
        load.send(&sender, load.len() / rounds / 2).await;
        // While these are on their way and others run.
        let more = load.send(&sender, load.len() / rounds);
        let kill = async {
            destination.wait_for(destination.received().len() + 2 * round).await;
            process.kill().await;
        };
        tokio::join!(more, kill);
    }
    let process = site.start(&["serve"]).await;
    load.send_rest(&process.sender()).await;
    until_all_is_finished(&mut conn).await;
    let effects = Effects(destination.received());
    assert_all_is_well(&load, &effects, &mut conn).await;
    process.stop().await;
}
