//! What an operator does to single deliveries: each operation in each state, in a lane and without one; and what becomes of
//! the lane.

use oncehook::{
    config::OnDead,
    domain::{DeliveryRef, DeliveryState, JobId},
    operate::{Changed, OperateError},
    store::jobs::{RunAt, Work, insert_job},
};

use crate::support::{
    bench::{Bench, lane},
    desk::{by, desk_of, operator},
    script::Step,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Retry,
    Cancel,
    Discard,
}

impl Operation {
    const ALL: [Self; 3] = [Self::Retry, Self::Cancel, Self::Discard];

    fn fits(self, state: DeliveryState) -> bool {
        use DeliveryState::{Cancelled, Dead, Queued, Retrying, Waiting};
        match self {
            Self::Retry => matches!(state, Dead | Cancelled),
            Self::Cancel => matches!(state, Waiting | Queued | Retrying),
            Self::Discard => state == Dead,
        }
    }

    async fn on(self, bench: &Bench, delivery: DeliveryRef) -> Result<Changed, OperateError> {
        let (desk, operator) = (desk_of(&bench.ctx), operator());
        match self {
            Self::Retry => desk.retry(delivery, by(&operator)).await,
            Self::Cancel => desk.cancel(delivery, by(&operator)).await,
            Self::Discard => desk.discard(delivery, by(&operator)).await,
        }
    }
}

/// Puts a delivery that was recorded into a state, as the work would have left it.
async fn stand(bench: &Bench, delivery: DeliveryRef, state: DeliveryState) {
    let id = delivery.uuid();
    let finished = if state.is_finished() { "now()" } else { "null" };
    let set = format!("update oncehook.deliveries set state = '{state}', finished_at = {finished}");
    match state {
        DeliveryState::Running => {
            let lease = "attempts = 1, tries = 1, leased_by = 'w', lease_expires_at = now() + interval '1 h'";
            bench.run_sql(&format!("{set}, {lease} where id = '{id}'")).await;
            let attempt = "insert into oncehook.attempts (id, delivery, number, trigger, worker)";
            bench.run_sql(&format!("{attempt} values (gen_random_uuid(), '{id}', 1, 'automatic', 'w')")).await;
        }
        DeliveryState::Retrying => {
            bench.run_sql(&format!("{set}, due_at = now() + interval '1 h' where id = '{id}'")).await;
            bench.run_sql("update apalis.jobs set run_at = now() + interval '1 h'").await;
        }
        _ => drop(bench.run_sql(&format!("{set} where id = '{id}'")).await),
    }
    if state.is_finished() {
        bench.run_sql("delete from apalis.jobs j using oncehook.deliveries d where d.job_id = j.id and d.finished_at is not null").await;
    }
}

#[tokio::test]
async fn each_operation_does_its_work_in_its_states_and_nothing_in_others() {
    for operation in Operation::ALL {
        for state in DeliveryState::ALL {
            for key in [Some("a"), None] {
                let bench = Bench::new().await;
                let before = if state == DeliveryState::Waiting { Some(bench.record(key).await) } else { None };
                let delivery = bench.record(key).await;
                let behind = bench.record(key).await;
                stand(&bench, delivery, state).await;
                let case = format!("{operation:?} of a {state} one in {key:?}");

                let result = operation.on(&bench, delivery).await;
                bench.check().await;
                let noted = bench.count("select count(*) from oncehook.audit").await;
                if operation.fits(state) {
                    let changed = result.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!((changed.state, noted), (Some(bench.state(delivery).await), 1), "{case}");
                    assert!(state.may_become(bench.state(delivery).await), "{case}");
                } else {
                    assert!(matches!(&result, Err(OperateError::Refused { .. })), "{case}: {result:?}");
                    assert_eq!((bench.state(delivery).await, noted), (state, 0), "{case}");
                }
                if state != DeliveryState::Running {
                    bench.drain().await;
                    if state != DeliveryState::Retrying || operation == Operation::Cancel {
                        let last = bench.script.begun().contains(&behind);
                        assert!(last && before.is_none_or(|one| bench.script.begun().contains(&one)), "{case}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let bench = Bench::new().await;
    for operation in Operation::ALL {
        let result = operation.on(&bench, DeliveryRef::new()).await;
        assert!(matches!(&result, Err(OperateError::NotFound { what: "delivery", .. })), "{result:?}");
    }
    assert_eq!(bench.count("select count(*) from oncehook.audit").await, 0);
}

#[tokio::test]
async fn cancelling_a_head_that_waits_for_its_retry_lets_the_next_go_at_once() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 3).await;
    bench.script.plan(deliveries[0], [Step::Fail]);
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Retrying);
    Operation::Cancel.on(&bench, deliveries[0]).await.unwrap();
    assert_eq!(bench.drain().await, 1, "the lane's job is due");
    assert_eq!(bench.script.begun(), deliveries, "each once");
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Cancelled);
}

#[tokio::test]
async fn cancelling_the_last_of_a_lane_or_a_lone_delivery_leaves_neither_lane_nor_job() {
    let bench = Bench::new().await;
    for key in [Some("a"), None] {
        let delivery = bench.record(key).await;
        bench.script.plan(delivery, [Step::Fail]);
        bench.drain().await;
        Operation::Cancel.on(&bench, delivery).await.unwrap();
        let left =
            "select (select count(*) from oncehook.lanes) + (select count(*) from apalis.jobs where status <> 'Done')";
        assert_eq!(bench.count(left).await, 0);
    }
}

#[tokio::test]
async fn a_cancelled_delivery_in_the_middle_is_passed_over() {
    let bench = Bench::new().await;
    let deliveries = bench.record_many("a", 3).await;
    Operation::Cancel.on(&bench, deliveries[1]).await.unwrap();
    bench.drain().await;
    assert_eq!(bench.script.begun(), [deliveries[0], deliveries[2]]);
}

async fn blocked(count: usize) -> (Bench, Vec<DeliveryRef>) {
    let bench = Bench::with(|config| config.routes[0].on_dead = OnDead::Block).await;
    let deliveries = bench.record_many("a", count).await;
    bench.script.plan(deliveries[0], [Step::Reject]);
    bench.drain().await;
    (bench, deliveries)
}

#[tokio::test]
async fn discarding_the_dead_delivery_that_blocks_a_lane_lets_it_go_on() {
    let (bench, deliveries) = blocked(3).await;
    let changed = Operation::Discard.on(&bench, deliveries[0]).await.unwrap();
    assert!(changed.done.contains("its lane had waited for it"), "{}", changed.done);
    bench.drain().await;
    assert_eq!(bench.script.begun(), deliveries);
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Cancelled);

    let (bench, deliveries) = blocked(1).await;
    Operation::Discard.on(&bench, deliveries[0]).await.unwrap();
    bench.check().await;
    assert_eq!(bench.count("select count(*) from oncehook.lanes").await, 0, "an empty lane is gone at once");
}

#[tokio::test]
async fn a_waiting_delivery_of_a_blocked_lane_can_be_cancelled_and_the_lane_stays_blocked() {
    let (bench, deliveries) = blocked(2).await;
    Operation::Cancel.on(&bench, deliveries[1]).await.unwrap();
    bench.drain().await;
    assert_eq!(bench.count("select count(*) from oncehook.lanes where blocked_by is not null").await, 1);
    Operation::Retry.on(&bench, deliveries[0]).await.unwrap();
    bench.drain().await;
    assert_eq!(bench.state(deliveries[0]).await, DeliveryState::Succeeded);
}

#[tokio::test]
async fn unblocking_is_audited_and_refused_where_nothing_is_blocked() {
    let (bench, deliveries) = blocked(2).await;
    let (desk, operator) = (desk_of(&bench.ctx), operator());
    desk.unblock_lane(&lane("a"), by(&operator)).await.unwrap();
    let again = desk.unblock_lane(&lane("a"), by(&operator)).await;
    assert!(matches!(again, Err(OperateError::Refused { .. })), "{again:?}");
    assert_eq!(
        bench.count("select count(*) from oncehook.audit where action = 'unblock' and subject = 'deploy/a'").await,
        1
    );
    bench.drain().await;
    assert_eq!(bench.script.begun(), deliveries);
}

/// A worker in a blocked lane waits for the lane's lock with nothing in hand: whoever cancels has it, and wants a delivery.
#[tokio::test]
async fn an_operator_who_cancels_and_a_worker_who_leaves_a_blocked_lane_do_not_deadlock() {
    let (bench, deliveries) = blocked(2).await;
    let mut operator = bench.pool().begin().await.unwrap();
    sqlx::query("select from oncehook.lanes for update").execute(&mut *operator).await.unwrap();
    let job: String = sqlx::query_scalar("select job_id from oncehook.lanes").fetch_one(bench.pool()).await.unwrap();
    let job: JobId = job.parse().unwrap();
    let mut conn = bench.pool().acquire().await.unwrap();
    insert_job(&mut conn, job, &Work::Lane(lane("a")), RunAt::Now).await.unwrap();
    let ctx = bench.ctx.clone();
    let worker = tokio::spawn(async move { oncehook::run::drain_due(&ctx, "host/1/w").await.unwrap() });
    bench.until_somebody_waits_for_a_lock().await;
    let cancelled: Option<String> = sqlx::query_scalar("select oncehook.cancel_delivery($1)")
        .bind(deliveries[1].uuid())
        .fetch_one(&mut *operator)
        .await
        .unwrap();
    assert_eq!(cancelled.as_deref(), Some("waiting"));
    operator.commit().await.unwrap();
    assert_eq!(worker.await.unwrap(), 1);
}
