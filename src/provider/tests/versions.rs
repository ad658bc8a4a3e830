//! Versions: which of two events is the later one, by what their payloads say.

use serde_json::{Value, json};

use super::{super::github::events::EVENTS, github, stripe};
use crate::{
    domain::{Headers, Measure, Version, is_stale as is_older},
    provider::{Identity, Provider, history::Step, identify},
};

type Stand = Option<Version>;

fn stand(identity: Identity) -> Stand {
    identity.version
}

fn is_stale(one: &Stand, other: &Stand) -> bool {
    one.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| is_older(one, other))
}

fn github_stand(event: &str, body: &Value) -> Stand {
    stand(github(event, body.to_string()))
}

/// The version of an event that has one.
fn version(event: &str, body: &Value) -> Version {
    github(event, body.to_string()).version.unwrap()
}

/// Says of two events about one thing that the first is older, and the second not.
fn assert_older(older: &Stand, newer: &Stand) {
    assert!(is_stale(older, newer), "{older:?} is not older than {newer:?}");
    assert!(!is_stale(newer, older), "{newer:?} is older than {older:?}");
}

fn assert_neither_is_older(one: &Stand, other: &Stand) {
    assert!(!is_stale(one, other) && !is_stale(other, one), "{one:?} {other:?}");
}

#[test]
fn a_check_run_goes_by_its_status_before_its_time() {
    let run = |status: &str, started: &str, completed: Option<&str>| {
        let run = json!({ "id": 1, "status": status, "started_at": started, "completed_at": completed });
        github_stand("check_run", &json!({ "check_run": run }))
    };
    // GitHub's own example: it was completed in the second in which it was created.
    let (second, later) = ("2019-05-15T15:21:12Z", "2019-05-15T15:22:00Z");
    let (queued, completed) = (run("queued", second, None), run("completed", second, Some(second)));
    assert_older(&queued, &completed);
    assert_older(&run("queued", later, None), &completed);
    assert_older(&run("in_progress", second, None), &completed);
    assert_older(&completed, &run("completed", second, Some(later)));
    assert_neither_is_older(&completed, &completed.clone());
}

#[test]
fn a_workflow_run_goes_by_its_attempt_before_its_status() {
    let run = |attempt: u32, status: &str, second: u32| {
        let run = json!({ "id": 1, "run_attempt": attempt, "status": status, "updated_at": format!("2026-01-05T10:00:{second:02}Z") });
        github_stand("workflow_run", &json!({ "workflow_run": run }))
    };
    assert_older(&run(1, "completed", 30), &run(2, "queued", 40));
    assert_older(&run(1, "requested", 1), &run(1, "in_progress", 1));
    assert_older(&run(2, "in_progress", 41), &run(2, "completed", 41));
    assert_older(&run(1, "queued", 1), &run(1, "queued", 2));
}

#[test]
fn a_job_that_waits_for_an_approval_and_one_that_is_queued_are_equally_far() {
    let job = |status: &str, completed: Option<&str>| {
        let job = json!({ "id": 1, "run_attempt": 1, "status": status, "completed_at": completed,
                          "started_at": "2023-04-19T21:12:12Z", "created_at": "2023-04-19T21:12:12Z" });
        github_stand("workflow_job", &json!({ "workflow_job": job }))
    };
    assert_neither_is_older(&job("queued", None), &job("waiting", None));
    assert_older(&job("waiting", None), &job("in_progress", None));
    assert_older(&job("in_progress", None), &job("completed", Some("2023-04-19T21:12:12Z")));
}

#[test]
fn an_older_server_that_names_no_attempt_is_gone_by_its_time_alone() {
    let run = json!({ "workflow_run": { "id": 1, "status": "completed", "updated_at": "2020-10-05T16:33:49Z" } });
    let version = version("workflow_run", &run);
    assert_eq!((&*version.scale, version.parts.len()), ("workflow_run.updated_at of workflow_run/1", 1));
    let odd = json!({ "check_run": { "id": 1, "status": "dreaming", "started_at": "2020-10-05T16:33:49Z" } });
    assert!(!github("check_run", odd.to_string()).version.unwrap().scale.contains("status"));
}

#[test]
fn a_push_leads_from_one_commit_to_another_and_none_is_written_as_zeros() {
    let push = |from: &str, to: &str, second: u32| {
        let body = json!({ "ref": "refs/heads/main", "before": from, "after": to,
                           "repository": { "id": 1, "pushed_at": 1_767_607_200 + second } });
        github_stand("push", &body)
    };
    let (none, a, b) = ("0".repeat(40), "a".repeat(40), "b".repeat(40));
    let created = push(&none, &a, 0).unwrap().chain.unwrap();
    assert_eq!((created.from, created.to.as_deref(), created.is_first), (None, Some(&*a), true));
    assert_older(&push(&none, &a, 0), &push(&a, &b, 0));
    assert_older(&push(&none, &a, 5), &push(&a, &b, 0));
    assert_older(&push(&a, &b, 0), &push(&b, &a, 1));
    assert_older(&push(&b, &none, 0), &push(&none, &a, 1));
    assert_neither_is_older(&push(&a, &b, 0), &push(&b, &a, 0));
    let no_time = json!({ "ref": "refs/heads/main", "before": a, "after": b, "repository": { "id": 1 } });
    assert_eq!(github_stand("push", &no_time), None);
}

#[test]
fn a_push_and_the_creation_and_deletion_of_its_branch_are_compared_by_time() {
    let event = |event: &str, second: u32| {
        let body = json!({ "ref": "main", "ref_type": "branch", "before": "a", "after": "b",
                           "repository": { "id": 1, "pushed_at": 1_767_607_200 + second } });
        github_stand(event, &body)
    };
    for (one, other) in [("create", "push"), ("push", "delete"), ("delete", "create")] {
        assert_older(&event(one, 0), &event(other, 1));
        assert_neither_is_older(&event(one, 0), &event(other, 0));
    }
}

#[test]
fn a_comment_does_not_replace_another() {
    let comment = |id: u32, action: &str, second: u32| {
        let time = format!("2026-01-05T10:00:{second:02}Z");
        let body = json!({ "action": action, "issue": { "id": 5, "updated_at": time }, "comment": { "id": id, "updated_at": time } });
        github_stand("issue_comment", &body)
    };
    assert_neither_is_older(&comment(1, "created", 0), &comment(2, "created", 9));
    assert_older(&comment(1, "created", 0), &comment(1, "edited", 9));
    let issue = json!({ "action": "edited", "issue": { "id": 5, "updated_at": "2026-01-05T10:00:30Z" } });
    assert_neither_is_older(&comment(1, "created", 0), &github_stand("issues", &issue));
    // A deletion carries the time of the last edit.
    assert_older(&comment(1, "edited", 9), &comment(1, "deleted", 9));
    let odd = json!({ "action": "created", "issue": { "id": 5 }, "comment": { "id": "x y".repeat(100), "updated_at": "2026-01-05T10:00:00Z" } });
    assert!(version("issue_comment", &odd).scale.len() < 170);
}

#[test]
fn requests_and_events_without_a_time_have_no_version() {
    let times = json!({ "deployment": { "id": 1, "updated_at": "2026-01-05T10:00:00Z" }, "label": { "id": 1 } });
    for event in ["deployment_protection_rule", "label", "workflow_dispatch", "from_the_future"] {
        assert_eq!(github(event, times.to_string()).version, None, "{event}");
    }
    assert!(github("deployment", times.to_string()).version.is_some());
}

#[test]
fn the_name_of_each_part_says_what_it_counts() {
    for row in EVENTS {
        let scale = row.scale();
        let version = Version { scale: scale.to_string(), parts: vec![0; 9], chain: None };
        let measures: Vec<Measure> = version.parts().map(|part| part.measure()).collect();
        let expected = row.version.iter().filter_map(|step| match step {
            Step::Time => Some(Measure::Time),
            Step::Number(_) => Some(Measure::Number),
            Step::Status(_) => Some(Measure::Status),
            Step::Deleted => Some(Measure::Action),
            Step::Chain(..) | Step::Of(_) => None,
        });
        if !row.version.is_empty() && !row.times.is_empty() {
            assert_eq!(measures, expected.collect::<Vec<_>>(), "{}: {scale}", row.name);
        }
    }
}

/// B061 and B063: two updates of one second.
#[test]
fn updates_of_stripe_in_one_second_are_told_apart_by_their_previous_attributes() {
    let event = |event_type: &str, created: u32, status: &str, before: Value| {
        let data = json!({ "object": { "id": "sub_1", "status": status }, "previous_attributes": before });
        stand(stripe(json!({ "id": "evt_1", "type": event_type, "created": created, "data": data }).to_string()))
    };
    let created = event("customer.subscription.created", 1_767_607_200, "incomplete", Value::Null);
    let first = event("customer.subscription.updated", 1_767_607_200, "active", json!({ "status": "incomplete" }));
    let second = event("customer.subscription.updated", 1_767_607_200, "past_due", json!({ "status": "active" }));
    assert_older(&created, &first);
    assert_older(&first, &second);
    assert_neither_is_older(&created, &second);
    let later = event("customer.subscription.updated", 1_767_607_201, "active", json!({ "status": "past_due" }));
    assert_older(&first, &later);
    let plain = |status| event("customer.subscription.updated", 1_767_607_200, status, Value::Null);
    assert_neither_is_older(&plain("active"), &plain("past_due"));
}

#[test]
fn thin_events_of_stripe_go_by_their_time_to_the_millisecond() {
    let event = |created: &str| {
        let body = json!({ "id": "evt_1", "object": "v2.core.event", "type": "v1.x", "created": created, "related_object": { "id": "m" } });
        stand(stripe(body.to_string()))
    };
    assert_older(&event("2026-01-05T10:00:00.001Z"), &event("2026-01-05T10:00:00.002Z"));
    assert_eq!(event("2026-01-05T10:00:00.001Z").unwrap().chain, None);
}

#[test]
fn standard_webhooks_compare_what_is_of_one_kind() {
    let event = |event_type: &str, second: u32| {
        let body =
            json!({ "type": event_type, "timestamp": format!("2026-01-05T10:00:{second:02}Z"), "data": { "id": 5 } });
        let headers: Headers = [("webhook-id", "msg_1")].into_iter().collect();
        stand(identify(Provider::StandardWebhooks, &headers, &body.to_string().into()).unwrap())
    };
    assert_older(&event("user.created", 0), &event("user.updated", 1));
    assert_neither_is_older(&event("user.created", 0), &event("order.created", 1));
}
