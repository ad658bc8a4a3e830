//! The same is done to many deliveries: as many as were counted, each once, whatever crashes in between.

use oncehook::{
    domain::{DeliveryRef, DeliveryState},
    operate::{BulkAction, BulkRequest, BulkState, DeliveryQuery, Desk, OperateError, PageRequest},
};

use crate::support::{
    bench::Bench,
    desk::{by, desk_of, operator},
    script::Step,
};

fn request(action: BulkAction) -> BulkRequest {
    let state = (action != BulkAction::Cancel).then_some(DeliveryState::Dead);
    let filter = DeliveryQuery { state, route: Some("deploy".to_owned()), ..DeliveryQuery::default() };
    BulkRequest { action, filter, only: vec![], expect: None, reason: Some("it is mended".to_owned()) }
}

/// So many dead letters, in five lanes.
async fn dead_letters(bench: &Bench, count: usize) -> Vec<DeliveryRef> {
    let mut all = Vec::new();
    for n in 0..count {
        let delivery = bench.record(Some(&format!("key {}", n % 5))).await;
        bench.script.plan(delivery, [Step::Reject]);
        all.push(delivery);
    }
    bench.drain().await;
    all
}

async fn work_off(desk: &Desk) -> usize {
    let mut steps = 0;
    while desk.work_bulks().await.unwrap() {
        steps += 1;
    }
    steps
}

#[tokio::test]
async fn a_thousand_dead_letters_are_replayed_by_filter_each_once() {
    let bench = Bench::new().await;
    let all = dead_letters(&bench, 1_000).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let request = request(BulkAction::Replay);
    let count = desk.count_bulk(&request).await.unwrap();
    assert_eq!((count.count, count.samples.len(), &count.samples[0]), (1_000, 5, &all[999].to_string()));
    assert_eq!(bench.count("select count(*) from oncehook.bulks").await, 0, "counting changes nothing");

    let begun = desk.begin_bulk(&BulkRequest { expect: Some(1_000), ..request }, by(&ada)).await.unwrap();
    assert_eq!((begun.state, begun.total, begun.met), (BulkState::Running, 1_000, 0));
    assert_eq!(work_off(&desk).await, 2, "steps of 500");
    let done = desk.bulk(&begun.bulk).await.unwrap();
    assert_eq!((done.state, done.met, done.changed, done.by), (BulkState::Done, 1_000, 1_000, ada.name));
    bench.drain().await;
    assert_eq!(
        bench.count("select count(*) from oncehook.deliveries where state = 'succeeded' and attempts = 2").await,
        1_000
    );
    let actions =
        "select count(*) from oncehook.audit where action in ('bulk_begin', 'bulk_end') and reason = 'it is mended'";
    assert_eq!(bench.count(actions).await, 2);
}

#[tokio::test]
async fn a_bulk_does_nothing_when_there_are_more_than_the_operator_saw() {
    let bench = Bench::new().await;
    dead_letters(&bench, 6).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let refused = desk.begin_bulk(&BulkRequest { expect: Some(5), ..request(BulkAction::Discard) }, by(&ada)).await;
    assert!(
        matches!(&refused, Err(OperateError::Refused { problem, .. }) if problem.contains("there are 6")),
        "{refused:?}"
    );
    assert!(!desk.work_bulks().await.unwrap());
    // And those that die after the count are left alone.
    let begun =
        desk.begin_bulk(&BulkRequest { expect: Some(6), ..request(BulkAction::Discard) }, by(&ada)).await.unwrap();
    dead_letters(&bench, 3).await;
    work_off(&desk).await;
    let done = desk.bulk(&begun.bulk).await.unwrap();
    assert_eq!((done.met, done.changed), (6, 6));
    assert_eq!(bench.count("select count(*) from oncehook.deliveries where state = 'dead'").await, 3);
}

#[tokio::test]
async fn a_crash_between_or_within_steps_loses_nothing_and_does_nothing_twice() {
    let bench = Bench::new().await;
    dead_letters(&bench, 600).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let begun = desk.begin_bulk(&request(BulkAction::Retry), by(&ada)).await.unwrap();
    assert!(desk.work_bulks().await.unwrap());
    bench.drain().await;
    // The second step dies with its process: all of it is undone.
    bench.run_sql("create function fail() returns trigger language plpgsql as $$ begin raise 'crash'; end $$").await;
    bench.run_sql("create trigger fail before update on oncehook.bulks for each row execute function fail()").await;
    assert!(desk.work_bulks().await.is_err());
    assert_eq!(bench.count("select count(*) from oncehook.deliveries where state = 'dead'").await, 100);
    bench.run_sql("drop trigger fail on oncehook.bulks").await;
    let another = desk_of(&bench.ctx);
    work_off(&another).await;
    bench.drain().await;
    assert_eq!(another.bulk(&begun.bulk).await.unwrap().changed, 600);
    assert_eq!(
        bench.count("select count(*) from oncehook.deliveries where state = 'succeeded' and attempts = 2").await,
        600
    );
}

#[tokio::test]
async fn two_workers_share_bulks_and_never_one() {
    let bench = Bench::new().await;
    dead_letters(&bench, 700).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let begun = desk.begin_bulk(&request(BulkAction::Discard), by(&ada)).await.unwrap();
    let mut holding = bench.pool().begin().await.unwrap();
    sqlx::query("select from oncehook.bulks for update").execute(&mut *holding).await.unwrap();
    assert!(!desk.work_bulks().await.unwrap(), "another process has it");
    holding.rollback().await.unwrap();
    tokio::join!(work_off(&desk), work_off(&desk));
    work_off(&desk).await;
    let done = desk.bulk(&begun.bulk).await.unwrap();
    assert_eq!((done.state, done.met, done.changed), (BulkState::Done, 700, 700));
    bench.check().await;
}

#[tokio::test]
async fn a_stopped_bulk_keeps_what_it_did_and_goes_no_further() {
    let bench = Bench::new().await;
    dead_letters(&bench, 600).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let begun = desk.begin_bulk(&request(BulkAction::Discard), by(&ada)).await.unwrap();
    desk.work_bulks().await.unwrap();
    let stopped = desk.stop_bulk(&begun.bulk, by(&ada)).await.unwrap();
    assert_eq!((stopped.state, stopped.met), (BulkState::Stopped, 500));
    assert!(!desk.work_bulks().await.unwrap());
    assert_eq!(bench.count("select count(*) from oncehook.deliveries where state = 'dead'").await, 100);
    assert!(matches!(desk.stop_bulk(&begun.bulk, by(&ada)).await, Err(OperateError::Refused { .. })));
    assert!(matches!(desk.stop_bulk("none", by(&ada)).await, Err(OperateError::NotFound { .. })));
    assert_eq!(desk.bulks(&PageRequest::default()).await.unwrap().items, [stopped]);
}

#[tokio::test]
async fn picked_deliveries_are_met_and_no_others_and_waiting_ones_are_cancelled() {
    let bench = Bench::new().await;
    let all = dead_letters(&bench, 9).await;
    let (desk, ada) = (desk_of(&bench.ctx), operator());
    let only: Vec<String> = all[2..5].iter().map(ToString::to_string).collect();
    desk.begin_bulk(&BulkRequest { only, ..request(BulkAction::Discard) }, by(&ada)).await.unwrap();
    work_off(&desk).await;
    for (place, delivery) in all.iter().enumerate() {
        let right = if (2..5).contains(&place) { DeliveryState::Cancelled } else { DeliveryState::Dead };
        assert_eq!(bench.state(*delivery).await, right);
    }
    bench.record_many("key 1", 20).await;
    let begun = desk.begin_bulk(&request(BulkAction::Cancel), by(&ada)).await.unwrap();
    work_off(&desk).await;
    assert_eq!(desk.bulk(&begun.bulk).await.unwrap().changed, 20);
    bench.check().await;
    let wrong = BulkRequest {
        filter: DeliveryQuery { state: Some(DeliveryState::Running), ..DeliveryQuery::default() },
        ..request(BulkAction::Cancel)
    };
    assert!(matches!(desk.count_bulk(&wrong).await, Err(OperateError::Invalid { .. })));
    let none = BulkRequest { only: vec!["rcp_x".to_owned()], ..request(BulkAction::Cancel) };
    assert!(matches!(desk.count_bulk(&none).await, Err(OperateError::Invalid { .. })));
}
