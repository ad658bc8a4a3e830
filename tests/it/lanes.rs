//! Promise P6: deliveries of one lane run one at a time, in the order recorded; other lanes do not wait for them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use oncehook::{
    config::DestinationKind,
    domain::{DeliveryRef, DeliveryState, JobId},
    run::{Drained, drain_due, drain_job},
    store::{
        jobs::{RunAt, Work, due_jobs, insert_job},
        lanes::replace_lane_job,
        turns::{Asking, Turn, next_turn, settle_and_next_turn},
    },
};
use tokio::sync::Semaphore;

use crate::support::{
    bench::{Bench, lane, record},
    script::{Moment, Script, Step, success},
};

/// Every attempt ended before the next of its lane began.
fn assert_one_at_a_time(script: &Script, lane_of: &HashMap<DeliveryRef, usize>) {
    let mut running = HashMap::new();
    for moment in script.log() {
        match moment {
            Moment::Begun(delivery) => {
                let other = running.insert(lane_of[&delivery], delivery);
                assert_eq!(other, None, "two deliveries of a lane ran at once");
            }
            Moment::Ended(delivery) => assert_eq!(running.remove(&lane_of[&delivery]), Some(delivery)),
        }
    }
}

#[tokio::test]
async fn deliveries_of_one_lane_run_in_the_order_recorded() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 5).await;
    assert_eq!(bench.count("select count(*) from apalis.jobs").await, 1, "a lane has one job");
    assert_eq!(bench.drain().await, 1, "one job works off its lane");
    assert_eq!(bench.script.begun(), deliveries);
    for delivery in deliveries {
        assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
        assert_eq!(bench.attempts(delivery).await, [(1, Some("succeeded".into()), Some("taken".into()))]);
    }
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0);
    assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0);
}

#[tokio::test]
async fn another_lane_does_not_wait_for_a_head_that_retries() {
    let bench = Bench::new().await;
    let blocked = bench.record_many("a", 2).await;
    let free = bench.record_many("b", 2).await;
    bench.script.plan(blocked[0], [Step::Fail]);
    bench.drain().await;
    assert_eq!(bench.state(blocked[0]).await, DeliveryState::Retrying);
    assert_eq!(bench.state(blocked[1]).await, DeliveryState::Waiting, "the lane waits for its head");
    assert_eq!(bench.state(free[1]).await, DeliveryState::Succeeded);
    bench.set_clock(3_600).await;
    bench.drain().await;
    assert_eq!(bench.state(blocked[1]).await, DeliveryState::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_workers_on_one_lane_keep_its_order() {
    for round in 0..3 {
        let bench = Arc::new(Bench::new().await);
        let deliveries = bench.record_many("a", 40).await;
        for (place, delivery) in deliveries.iter().enumerate() {
            bench.script.plan(*delivery, [Step::Yield((place * 7 + round) % 20)]);
        }
        // Eight workers that were all given the same job, as apalis does when it takes a live worker for dead.
        let jobs = due_jobs(&mut bench.pool().acquire().await.unwrap(), 10).await.unwrap();
        let (id, payload) = jobs.into_iter().next().unwrap();
        let workers: Vec<_> = (0..8)
            .map(|number| {
                let (bench, id, work) = (bench.clone(), id.clone(), Work::decode(&payload).unwrap());
                tokio::spawn(async move {
                    let worker = format!("host/1/{number}");
                    drain_job(&bench.ctx, &worker, id.parse().unwrap(), &work).await.unwrap();
                    while bench.count("select count(*) from oncehook.deliveries where finished_at is null").await > 0 {
                        drain_due(&bench.ctx, &worker).await.unwrap();
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.await.unwrap();
        }
        // The last worker may have been fenced: the lane's own job then finds it empty.
        while drain_due(&bench.ctx, "host/1/last").await.unwrap() > 0 {}
        bench.check().await;
        assert_eq!(bench.script.begun(), deliveries, "each once, in order");
        assert_eq!(bench.count("select deadlocks from pg_stat_database where datname = current_database()").await, 0);
        assert_one_at_a_time(&bench.script, &deliveries.iter().map(|delivery| (*delivery, 0)).collect());
    }
}

/// Another job may park the lane between a worker's last look and its retiring of the lane.
#[tokio::test]
async fn a_lane_that_was_parked_for_a_worker_which_then_finds_it_empty_does_not_wait_for_its_lease() {
    let bench = Bench::new().await;
    bench.record(Some("a")).await;
    let (id, payload) = due_jobs(&mut bench.pool().acquire().await.unwrap(), 1).await.unwrap().remove(0);
    let mut parking = bench.pool().begin().await.unwrap();
    let later = RunAt::After(Duration::from_secs(30));
    assert!(replace_lane_job(&mut parking, &lane("a"), &id, JobId::new(), later).await.unwrap());
    let (ctx, work) = (bench.ctx.clone(), Work::decode(&payload).unwrap());
    let worker = tokio::spawn(async move { drain_job(&ctx, "host/1/w", id.parse().unwrap(), &work).await });
    bench.until_somebody_waits_for_a_lock().await;
    parking.commit().await.unwrap();
    assert_eq!(worker.await.unwrap().unwrap(), Drained::Fenced);
    bench.drain().await;
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0);
}

#[tokio::test]
async fn a_job_hands_its_lane_to_a_fresh_one_when_its_budget_is_spent() {
    let bench = Bench::with(|config| config.run.lane_budget = 3).await;
    let deliveries = bench.record_many("a", 7).await;
    assert_eq!(drain_due(&bench.ctx, "host/1/w").await.unwrap(), 1);
    bench.check().await;
    assert_eq!(bench.script.begun(), deliveries[..3]);
    assert_eq!(bench.drain().await, 2);
    assert_eq!(bench.script.begun(), deliveries);
}

#[tokio::test]
async fn what_is_recorded_while_a_lane_retires_is_not_lost() {
    let bench = Arc::new(Bench::new().await);
    let gate = Arc::new(Semaphore::new(0));
    let first = bench.record(Some("a")).await;
    bench.script.plan(first, [Step::Hold(gate.clone())]);
    let draining = {
        let bench = bench.clone();
        tokio::spawn(async move { drain_due(&bench.ctx, "host/1/w").await.unwrap() })
    };
    bench.script.until_begun(1).await;
    // The recorder is first: it holds the lane's row while the worker, which sees nothing more, wants to retire it.
    let mut recorder = bench.pool().begin().await.unwrap();
    let second = record(&mut recorder, Some("a")).await;
    gate.add_permits(1);
    bench.until_somebody_waits_for_a_lock().await;
    recorder.commit().await.unwrap();
    draining.await.unwrap();
    bench.check().await;
    assert_eq!(bench.script.begun(), [first, second]);
    assert_eq!(bench.state(second).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn what_is_recorded_after_a_lane_retired_opens_it_again() {
    let bench = Arc::new(Bench::new().await);
    let first = bench.record(Some("a")).await;
    let job: JobId = due_jobs(&mut bench.pool().acquire().await.unwrap(), 1).await.unwrap()[0].0.parse().unwrap();
    // A retirement by hand, so that the recorder comes between the lane's lock and the commit.
    let work = Work::Lane(lane("a"));
    let asking = Asking {
        job,
        work: &work,
        worker: "host/1/w",
        lease: Duration::from_secs(30),
        destinations: &["deployer".to_owned()],
        rules: &serde_json::Value::Null,
        may_run: true,
    };
    let mut retiring = bench.pool().begin().await.unwrap();
    let Turn::Run(claim) = next_turn(&mut retiring, &asking).await.unwrap() else { panic!("it is first") };
    let retired = settle_and_next_turn(&mut retiring, &claim.lease, &success(), &asking).await.unwrap();
    assert!(matches!(retired, Some(Turn::Retired)), "{retired:?}");
    let recording = {
        let bench = bench.clone();
        tokio::spawn(async move { bench.record(Some("a")).await })
    };
    bench.until_somebody_waits_for_a_lock().await;
    retiring.commit().await.unwrap();
    let second = recording.await.unwrap();
    bench.check().await;
    assert_eq!(bench.state(first).await, DeliveryState::Succeeded);
    assert_eq!(bench.state(second).await, DeliveryState::Queued, "it opened the lane anew");
    assert_eq!(bench.drain().await, 1);
    assert_eq!(bench.state(second).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn deliveries_without_an_order_run_each_by_itself() {
    let bench = Bench::new().await;
    let (first, second) = (bench.record(None).await, bench.record(None).await);
    bench.script.plan(first, [Step::Fail, Step::Succeed]);
    assert_eq!(bench.drain().await, 2);
    assert_eq!(bench.state(first).await, DeliveryState::Retrying);
    assert_eq!(bench.state(second).await, DeliveryState::Succeeded);
    bench.set_clock(3_600).await;
    assert_eq!(bench.drain().await, 1);
    assert_eq!(bench.state(first).await, DeliveryState::Succeeded);
    assert_eq!(bench.count("select count(*) from apalis.jobs").await, 0);
}

#[tokio::test]
async fn a_job_that_does_not_own_its_lane_does_nothing() {
    let bench = Bench::new().await;
    bench.record(Some("a")).await;
    let stray = JobId::new();
    let work = Work::Lane(lane("a"));
    insert_job(&mut bench.pool().acquire().await.unwrap(), stray, &work, RunAt::Now).await.unwrap();
    assert_eq!(drain_job(&bench.ctx, "host/1/w", stray, &work).await.unwrap(), Drained::Fenced);
    assert_eq!(bench.script.begun(), []);
    bench.run_sql(&format!("delete from apalis.jobs where id = '{stray}'")).await;
    assert_eq!(bench.drain().await, 1);
}

#[tokio::test]
async fn a_worker_that_finds_the_head_under_a_live_lease_waits_for_its_end_and_no_longer() {
    let bench = Arc::new(Bench::new().await);
    let gate = Arc::new(Semaphore::new(0));
    let deliveries = bench.record_many("a", 2).await;
    bench.script.plan(deliveries[0], [Step::Hold(gate.clone())]);
    let (id, payload) = due_jobs(&mut bench.pool().acquire().await.unwrap(), 1).await.unwrap().remove(0);
    let (job, work) = (id.parse().unwrap(), Work::decode(&payload).unwrap());
    let holder = {
        let (bench, work) = (bench.clone(), work.clone());
        tokio::spawn(async move { drain_job(&bench.ctx, "host/1/a", job, &work).await.unwrap() })
    };
    bench.script.until_begun(1).await;
    assert_eq!(drain_job(&bench.ctx, "host/1/b", job, &work).await.unwrap(), Drained::Parked);
    bench.check().await;
    assert_eq!(bench.drain().await, 0, "the lane's new job is due when the lease ends");
    gate.add_permits(1);
    assert_eq!(holder.await.unwrap(), Drained::Fenced, "the lane has another job now");
    bench.check().await;
    assert_eq!(bench.drain().await, 1, "and that job was brought forward");
    assert_eq!(bench.script.begun(), deliveries);
}

#[tokio::test]
async fn a_delivery_whose_payload_was_pruned_is_a_dead_letter_and_the_lane_goes_on() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 2).await;
    bench
        .run_sql(&format!(
            "delete from oncehook.payloads where receipt_id =
             (select receipt_id from oncehook.deliveries where id = '{}')",
            deliveries[0].uuid()
        ))
        .await;
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Dead);
    assert!(bench.column::<String>(deliveries[0], "last_error").await.contains("payload was pruned"));
    assert_eq!(bench.script.begun(), deliveries[1..]);
}

#[tokio::test]
async fn a_delivery_to_a_destination_that_this_process_does_not_know_waits_and_is_not_lost() {
    let bench = Bench::with(|config| config.destinations.clear()).await;
    let delivery = bench.record(Some("a")).await;
    bench.drain().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Queued);
    assert!(bench.column::<String>(delivery, "last_error").await.contains("no destination \"deployer\""));
    let deployer = oncehook::config::Destination {
        name: "deployer".parse().unwrap(),
        kind: DestinationKind::Log,
        concurrency: None,
        pace: None,
    };
    bench.reload(|config| drop(config.destinations.insert(deployer.name.clone(), deployer)));
    bench.set_clock(31).await;
    bench.drain().await;
    assert_eq!(bench.state(delivery).await, DeliveryState::Succeeded);
    assert_eq!(bench.column::<i32>(delivery, "tries").await, 1, "waiting is no try");
}

#[tokio::test]
async fn a_job_is_due_by_state_and_time_and_queue() {
    let bench = Bench::new().await;
    bench
        .run_sql(
            "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
             select s || '-' || t || '-' || q, q, '', s, case when t = 'spent' then 9 else 0 end, 9,
                    pg_catalog.now() + case when t = 'late' then interval '1 h' else interval '-1 s' end, 0
             from unnest(array['Pending','Queued','Running','Done','Failed','Killed']) s,
                  unnest(array['due','late','spent']) t, unnest(array['oncehook','other']) q",
        )
        .await;
    let mut due: Vec<_> = due_jobs(&mut bench.pool().acquire().await.unwrap(), 100).await.unwrap();
    due.sort();
    let ids: Vec<_> = due.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["Failed-due-oncehook", "Pending-due-oncehook", "Pending-spent-oncehook"]);
    // What draining by hand takes is what apalis takes.
    bench.run_sql("insert into apalis.workers (id, worker_type, storage_name) values ('w', 'oncehook', '')").await;
    let mut fetched: Vec<String> = sqlx::query_scalar("select id from apalis.get_jobs('w', 'oncehook', 100)")
        .fetch_all(bench.pool())
        .await
        .unwrap();
    fetched.sort();
    assert_eq!(fetched, ids);
    bench.run_sql("delete from apalis.jobs").await;
}
