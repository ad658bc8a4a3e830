//! Violations between the receipts and the sinks.

use serde_json::json;

use super::{
    assert_red,
    scene::{Scene, at, attempt, call, delivery, entry, receipt, sha, time},
};

fn with(plant: impl FnOnce(&mut Scene)) -> Scene {
    let mut scene = Scene::clean();
    plant(&mut scene);
    scene
}

fn with_sql(sql: impl Into<String>) -> Scene {
    with(|scene| scene.sql = sql.into())
}

#[tokio::test]
async fn an_effect_before_its_receipt_is_found() {
    let scene = with(|scene| scene.naive[0]["at_us"] = json!(at(0.9)));
    assert_red(scene, &["no effect before its receipt"], "100000 µs before its receipt").await;
}

#[tokio::test]
async fn an_effect_of_nothing_or_of_something_else_is_found() {
    let scene = with(|scene| scene.naive.push(call(7, 0, 1, 20.0, true)));
    assert_red(scene, &["no effect before its receipt"], "of which nothing is stored").await;
    let scene = with(|scene| scene.naive[0]["receipt"] = scene.naive[2]["receipt"].clone());
    assert_red(scene, &["no effect before its receipt"], "under rcp_").await;
    let scene = with(|scene| scene.naive[0]["body_sha256"] = json!(sha("something")));
    assert_red(scene, &["no effect before its receipt"], "with another body").await;
}

#[tokio::test]
async fn a_success_without_or_before_its_effect_is_found() {
    let scene = with(|scene| drop(scene.idempotent.pop()));
    assert_red(scene, &["no success before its effect"], "of which its sink knows nothing").await;
    let scene = with(|scene| scene.idempotent[2]["at_us"] = json!(at(13.6)));
    assert_red(scene, &["no success before its effect"], "was marked in attempt 1 before its effect").await;
}

#[tokio::test]
async fn a_second_row_in_the_ledger_is_found() {
    let scene = with_sql(entry(3, 11.0));
    assert_red(scene, &["no duplicate at the ledger"], "had 2 effects").await;
}

#[tokio::test]
async fn a_second_effect_at_the_idempotent_sink_is_found() {
    let scene = with(|scene| {
        scene.idempotent.push(call(1, 1, 2, 10.2, true));
        scene.sql = attempt(delivery(1, 1), 2, 88, 10.0, 10.4, "unknown");
        scene.sink_faults.push(json!({"fault": "sink_reset", "delivery": scene.idempotent[0]["delivery"]}));
    });
    assert_red(scene, &["no duplicate at the idempotent sink", "extra calls are explained"], "had 2 effects").await;
}

#[tokio::test]
async fn a_call_again_that_no_fault_explains_is_found() {
    // The fault was another process's.
    let scene = with(|scene| scene.faults.last_mut().unwrap()["pid"] = json!(78));
    assert_red(scene, &["extra calls are explained"], "met no fault that was injected").await;
    // The fault was long before.
    let scene = with(|scene| scene.faults.last_mut().unwrap()["at_us"] = json!(at(8.9)));
    assert_red(scene, &["extra calls are explained"], "met no fault that was injected").await;
    // A process that dies makes no sink answer 500.
    let scene = with_sql("update oncehook.attempts set outcome = 'failed' where outcome = 'unknown';");
    assert_red(scene, &["extra calls are explained"], "met no fault that was injected").await;
    let scene = with(|scene| drop(scene.sink_faults.remove(0)));
    let red = ["extra calls are explained", "every planned fault was injected"];
    assert_red(scene, &red, "met no fault that was injected").await;
}

#[tokio::test]
async fn a_call_again_after_a_success_or_without_an_attempt_is_found() {
    let scene = with(|scene| scene.naive.push(call(2, 0, 1, 13.2, true)));
    assert_red(scene, &["extra calls are explained"], "two calls in attempt 1").await;
    let scene = with(|scene| scene.naive.push(call(2, 0, 2, 13.2, true)));
    assert_red(scene, &["extra calls are explained"], "a call in attempt 2, which was never opened").await;
    let scene = with(|scene| {
        scene.naive.push(call(2, 0, 2, 13.2, true));
        scene.sql = attempt(delivery(2, 0), 2, 88, 13.1, 13.4, "unknown");
    });
    assert_red(scene, &["extra calls are explained"], "called again after attempt 1 had succeeded").await;
}

#[tokio::test]
async fn effects_in_the_wrong_order_are_found() {
    let scene = with(|scene| scene.naive.rotate_right(1));
    assert_red(scene, &["order per key at the sinks"], "in lane naive / a").await;
}

#[tokio::test]
async fn a_route_by_event_time_is_held_to_that_time() {
    let times = |first: f64, second: f64| {
        let set = |event, seconds| {
            format!("update oncehook.receipts set event_time = {} where id = '{}';", time(seconds), receipt(event))
        };
        let mut scene = with_sql(set(1, first) + &set(2, second));
        scene.plan["routes"][0]["order"] = json!("event");
        scene
    };
    let verdicts = times(0.1, 0.2).verdicts().await;
    assert_eq!(super::red(&verdicts), Vec::<&str>::new(), "{verdicts:#?}");
    assert_red(times(0.2, 0.1), &["order per key at the sinks"], "in lane naive / a").await;
}

#[tokio::test]
async fn two_deliveries_of_a_lane_at_once_are_found() {
    let scene = with_sql(format!(
        "update oncehook.attempts set started_at = {} where delivery = '{}';",
        time(12.3),
        delivery(2, 0)
    ));
    assert_red(scene, &["one at a time per key"], "began while").await;
}

#[tokio::test]
async fn an_attempt_that_goes_on_after_its_delivery_ended_is_found() {
    let scene = with_sql(format!(
        "update oncehook.deliveries set finished_at = {} where id = '{}';
         update oncehook.attempts set finished_at = {} where delivery = '{1}' and number = 2;",
        time(12.1),
        delivery(1, 0),
        time(13.2)
    ));
    assert_red(scene, &["one at a time per key"], "began while").await;
}

#[tokio::test]
async fn rows_of_the_ledger_in_the_wrong_order_are_found() {
    let scene = with_sql("update drill.ledger set n = 100 - n;");
    assert_red(scene, &["order per key at the ledger"], "is in the ledger behind").await;
}

#[tokio::test]
async fn a_conflict_that_was_run_is_found() {
    let scene = with(|scene| scene.idempotent[1]["body_sha256"] = json!(sha("other body of e3")));
    let red = ["no effect before its receipt", "conflicts are never run"];
    assert_red(scene, &red, "with another body").await;
}

#[tokio::test]
async fn a_second_successful_attempt_is_found() {
    let scene =
        with_sql(format!("update oncehook.attempts set outcome = 'succeeded' where delivery = '{}';", delivery(1, 0)));
    let red = ["extra calls are explained", "deliveries add up", "recovery of a dead worker's work"];
    let verdicts = scene.verdicts().await;
    assert_eq!(super::red(&verdicts), red[..2], "{verdicts:#?}");
}

#[tokio::test]
async fn a_dead_letter_that_was_not_planned_is_found_and_so_is_one_that_is_missing() {
    let dead = format!(
        "update oncehook.deliveries set state = 'dead' where id = '{0}';
         update oncehook.attempts set outcome = 'failed' where delivery = '{0}';",
        delivery(3, 1)
    );
    assert_red(with_sql(dead.clone()), &["no unplanned dead letters"], "is dead").await;
    let scene = with(|scene| {
        scene.sql = dead;
        scene.plan["dead_letters"] = json!(2);
    });
    assert_red(scene, &["no unplanned dead letters"], "1 dead letters where 2 were planned").await;
}

#[tokio::test]
async fn whatever_is_left_over_is_found() {
    let open = format!(
        "update oncehook.attempts set finished_at = null, outcome = null where delivery = '{}';",
        delivery(2, 0)
    );
    let unfinished = format!(
        "update oncehook.deliveries set state = 'waiting', finished_at = null where id = '{}';
         delete from oncehook.attempts where delivery = '{0}';",
        delivery(2, 2)
    );
    for (sql, red, what) in [
        (open.as_str(), &["deliveries add up", "nothing is stuck"][..], "an open attempt"),
        (&unfinished, &["nothing is stuck"], "a delivery that is waiting: e2 on route ledger"),
        ("insert into oncehook.lanes values ('naive', 'a', 'j');", &["nothing is stuck"], "a lane: naive / a, job j"),
        (
            "insert into apalis.jobs (id, job, job_type) values ('j', 'x', 'oncehook');",
            &["nothing is stuck"],
            "a job: j, Pending, x",
        ),
    ] {
        let verdicts = with_sql(sql).verdicts().await;
        assert_eq!(super::red(&verdicts), red, "{verdicts:#?}");
        let stuck = verdicts.iter().find(|verdict| verdict.name == "nothing is stuck").unwrap();
        assert!(stuck.detail.contains(what), "{}", stuck.detail);
    }
}

#[tokio::test]
async fn a_fault_that_was_planned_and_never_happened_is_found() {
    let scene = with(|scene| scene.faults.retain(|fault| fault["fault"] != "sigterm"));
    assert_red(scene, &["every planned fault was injected"], "sigterm: 0 of at least 1").await;
    let scene = with(|scene| scene.plan["faults"] = json!({"kill9": 2}));
    assert_red(scene, &["every planned fault was injected"], "kill9: 1 of at least 2").await;
}

#[tokio::test]
async fn a_slow_recovery_is_found() {
    let id = delivery(3, 0);
    let scene = with(|scene| {
        scene.sql = format!(
            "update oncehook.attempts set worker = 'host/77/x/0-0', outcome = 'unknown', finished_at = {1} where delivery = '{id}' and number = 1;
             update oncehook.attempts set started_at = {1}, finished_at = {0} where delivery = '{id}' and number = 2;
             update oncehook.deliveries set finished_at = {0} where id = '{id}';",
            time(42.0),
            time(41.0)
        );
        scene.naive[3]["at_us"] = json!(at(41.5));
    });
    assert_red(scene, &["recovery of a dead worker's work"], "p99 is over 30.00 s").await;
}
