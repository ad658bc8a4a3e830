//! Pausing routes and destinations: nothing begins there, what waits keeps its place and says why, and a resume wakes it.

use std::sync::Arc;

use oncehook::{
    domain::{DeliveryState, JobId},
    operate::{OperateError, Pausable, Paused},
    run::rescue_once,
    store::{
        jobs::{RunAt, Work, insert_job},
        pauses::bring_forward_if_resumed,
    },
};
use tokio::sync::Semaphore;

use crate::support::{
    bench::Bench,
    desk::{by, desk_of, operator},
    script::Step,
};

async fn pause(bench: &Bench, kind: Pausable, name: &str) -> Result<(), OperateError> {
    desk_of(&bench.ctx).pause(kind, name, by(&operator())).await.map(drop)
}

async fn resume(bench: &Bench, kind: Pausable, name: &str) -> Result<(), OperateError> {
    desk_of(&bench.ctx).resume(kind, name, by(&operator())).await.map(drop)
}

#[tokio::test]
async fn what_is_paused_waits_in_order_says_why_and_begins_at_once_when_it_is_resumed() {
    for (kind, name) in [(Pausable::Route, "deploy"), (Pausable::Destination, "deployer")] {
        let bench = Bench::new().await;
        pause(&bench, kind, name).await.unwrap();
        let lane = bench.record_many("a", 3).await;
        let lone = bench.record(None).await;
        bench.drain().await;
        assert!(bench.script.begun().is_empty());
        for head in [lane[0], lone] {
            assert_eq!(bench.state(head).await, DeliveryState::Queued);
            let note = format!("{} {name} is paused by ada: since it must", kind.as_str());
            assert_eq!(bench.column::<Option<String>>(head, "last_error").await, Some(note));
            assert_eq!(bench.column::<i32>(head, "attempts").await, 0, "waiting costs no try");
        }
        assert_eq!(rescue_once(bench.pool()).await.unwrap(), 0, "nothing is lost that would need repair");
        let late = bench.record(Some("a")).await;
        bench.drain().await;

        resume(&bench, kind, name).await.unwrap();
        bench.drain().await;
        let of_lane: Vec<_> = bench.script.begun().into_iter().filter(|one| *one != lone).collect();
        assert_eq!(of_lane, [lane[0], lane[1], lane[2], late], "the clock has not moved");
        assert_eq!(bench.state(lone).await, DeliveryState::Succeeded);
        assert_eq!(bench.count("select count(*) from oncehook.audit where action in ('pause', 'resume')").await, 2);
    }
}

#[tokio::test]
async fn an_attempt_under_way_ends_as_it_would_and_the_next_does_not_begin() {
    let bench = Arc::new(Bench::new().await);
    let deliveries = bench.record_many("a", 2).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.script.plan(deliveries[0], [Step::Hold(gate.clone())]);
    let worker = {
        let ctx = bench.ctx.clone();
        tokio::spawn(async move { oncehook::run::drain_due(&ctx, "host/1/w").await.unwrap() })
    };
    bench.script.until_begun(1).await;
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    gate.add_permits(1);
    worker.await.unwrap();
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Succeeded);
    assert_eq!(bench.script.begun(), deliveries[..1]);
    resume(&bench, Pausable::Route, "deploy").await.unwrap();
    bench.drain().await;
    assert_eq!(bench.script.begun(), deliveries);
}

#[tokio::test]
async fn another_route_or_destination_goes_on() {
    let bench = Bench::new().await;
    bench.reload(|config| {
        let mut destination = config.destinations.values().next().unwrap().clone();
        destination.name = "elsewhere".parse().unwrap();
        config.destinations.insert(destination.name.clone(), destination);
        let mut route = config.routes[0].clone();
        route.name = "other".parse().unwrap();
        config.routes.push(route);
    });
    pause(&bench, Pausable::Route, "other").await.unwrap();
    pause(&bench, Pausable::Destination, "elsewhere").await.unwrap();
    let delivery = bench.record(Some("a")).await;
    bench.drain().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn a_paused_destination_holds_back_lanes_of_other_routes_too() {
    let bench = Bench::new().await;
    let (mine, others) = (bench.record(Some("a")).await, bench.record(Some("b")).await);
    let of_other_route = "
        with l as (update oncehook.lanes set route = 'other' where ordering_key = 'b' returning job_id),
             j as (update apalis.jobs set job = convert_to('{\"v\":1,\"route\":\"other\",\"ordering_key\":\"b\"}', 'UTF8')
                   where id in (select job_id from l))
        update oncehook.deliveries set route = 'other' where ordering_key = 'b'";
    bench.run_sql(of_other_route).await;
    pause(&bench, Pausable::Destination, "deployer").await.unwrap();
    bench.drain().await;
    assert!(bench.script.begun().is_empty());
    resume(&bench, Pausable::Destination, "deployer").await.unwrap();
    bench.drain().await;
    for delivery in [mine, others] {
        assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
    }
}

#[tokio::test]
async fn a_resume_leaves_what_waits_for_its_retry_and_what_waits_for_another_pause() {
    let bench = Bench::new().await;
    let (retried, paused) = (bench.record(Some("a")).await, bench.record(Some("b")).await);
    bench.script.plan(retried, [Step::Fail]);
    bench.script.plan(paused, [Step::Fail]);
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    pause(&bench, Pausable::Destination, "deployer").await.unwrap();
    bench.drain().await;
    resume(&bench, Pausable::Route, "deploy").await.unwrap();
    bench.drain().await;
    assert!(bench.script.begun().is_empty(), "the destination is paused still");
    resume(&bench, Pausable::Destination, "deployer").await.unwrap();
    bench.drain().await;
    assert_eq!(bench.state(retried).await, DeliveryState::Retrying);
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    resume(&bench, Pausable::Route, "deploy").await.unwrap();
    assert_eq!(bench.drain().await, 0, "their retries are not due");
}

/// 2,500 lanes are looked at in three statements.
#[tokio::test]
async fn a_resume_wakes_any_number_of_lanes_in_bounded_statements() {
    let bench = Bench::new().await;
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    let many = "
        with n as (select n, upper(lpad(to_hex(n), 26, '0')) as job from generate_series(1, 2500) n),
             l as (insert into oncehook.lanes (route, ordering_key, job_id) select 'deploy', 'lane ' || n, job from n),
             j as (insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
                   select job, 'oncehook', convert_to('{\"v\":1,\"route\":\"deploy\",\"ordering_key\":\"lane ' || n || '\"}', 'UTF8'),
                          'Pending', 0, 1000000, now() + interval '1 h', 0 from n)
        insert into oncehook.deliveries (id, receipt_id, route, destination, ordering_key, state)
        select gen_random_uuid(), gen_random_uuid(), 'deploy', 'deployer', 'lane ' || n, 'queued' from n";
    bench.run_sql(many).await;
    resume(&bench, Pausable::Route, "deploy").await.unwrap();
    assert_eq!(bench.count("select count(*) from apalis.jobs where run_at < oncehook.now()").await, 2_500);
}

/// Between a worker's look and its parking the pause may end: nobody would wake the job then.
#[tokio::test]
async fn a_job_that_is_parked_after_the_resume_is_due_at_once() {
    let bench = Bench::new().await;
    let delivery = bench.record(None).await;
    let job = JobId::new();
    let mut conn = bench.pool().acquire().await.unwrap();
    insert_job(&mut conn, job, &Work::Delivery(delivery), RunAt::After(std::time::Duration::from_secs(30)))
        .await
        .unwrap();
    pause(&bench, Pausable::Destination, "deployer").await.unwrap();
    assert!(!bring_forward_if_resumed(&mut conn, job, "deploy", "deployer").await.unwrap());
    resume(&bench, Pausable::Destination, "deployer").await.unwrap();
    assert!(bring_forward_if_resumed(&mut conn, job, "deploy", "deployer").await.unwrap());
}

/// Should the one who resumes die before it has woken anybody, those who wait look by themselves.
#[tokio::test]
async fn what_waits_looks_again_by_itself_less_often_the_longer_the_pause_lasts() {
    let bench = Bench::new().await;
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    let delivery = bench.record(Some("a")).await;
    let waits = "select round(extract(epoch from run_at - oncehook.now()))::bigint from apalis.jobs";
    for (clock, wait) in [(0, 30), (100, 100), (10_000, 300)] {
        bench.set_clock(clock).await;
        bench.drain().await;
        let waited = bench.count(waits).await;
        assert!((wait - 1..=wait + 5).contains(&waited), "{waited} s after {clock} s");
    }
    bench.run_sql("delete from oncehook.pauses").await;
    bench.set_clock(10_310).await;
    bench.drain().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn only_what_the_configuration_has_is_paused_once_and_what_it_has_no_more_can_be_resumed() {
    let bench = Bench::new().await;
    let unknown = pause(&bench, Pausable::Route, "deployer").await;
    assert!(matches!(&unknown, Err(OperateError::NotFound { what: "route", .. })), "{unknown:?}");
    pause(&bench, Pausable::Route, "deploy").await.unwrap();
    assert!(matches!(pause(&bench, Pausable::Route, "deploy").await, Err(OperateError::Refused { .. })));
    let all = desk_of(&bench.ctx).pauses().await.unwrap();
    assert!(
        matches!(&all[..], [Paused { kind: Pausable::Route, name, by, reason: Some(reason), .. }]
            if name == "deploy" && by == "ada" && reason == "since it must"),
        "{all:?}"
    );
    bench.reload(|config| config.routes.clear());
    resume(&bench, Pausable::Route, "deploy").await.unwrap();
    assert!(matches!(resume(&bench, Pausable::Route, "deploy").await, Err(OperateError::Refused { .. })));
    assert!(desk_of(&bench.ctx).pauses().await.unwrap().is_empty());
    assert_eq!(bench.count("select count(*) from oncehook.audit").await, 2, "what was refused is no change");
}
