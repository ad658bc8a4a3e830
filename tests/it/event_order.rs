//! Order by the provider's own event time, from the request to the destination.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::support::{
    app::TestApp,
    destination::{Reply, TestDestination},
    sender::Letter,
};

/// An appliance whose routes go by event time, and the destination of both sources.
struct Stage {
    app: TestApp,
    destination: TestDestination,
}

impl Stage {
    /// With `more` keys in both routes.
    async fn with(more: &str, script: impl IntoIterator<Item = Reply>) -> Self {
        let destination = TestDestination::start(script).await;
        let config = format!(
            r#"
intake = {{ listen = "127.0.0.1:0", threads = 1 }}
admin = {{ listen = "127.0.0.1:0" }}
[sources.github]
provider = "github"
secrets = [{{ env = "GITHUB_SECRET" }}]
[sources.stripe]
provider = "stripe"
secrets = [{{ env = "STRIPE_SECRET" }}]
[destinations.mirror]
kind = "http"
url = "{}"
[[routes]]
name = "from-stripe"
source = "stripe"
events = ["*"]
order = "event"
destination = "mirror"
{more}
[[routes]]
name = "from-github"
source = "github"
events = ["*"]
order = "event"
destination = "mirror"
{more}
"#,
            destination.url()
        );
        Self { app: TestApp::start_from(&config).await, destination }
    }

    async fn new() -> Self {
        Self::with("", []).await
    }

    fn github(&self, event: &str, body: &Value) -> Letter {
        self.app.sender().github(event, body.to_string())
    }

    /// Sends them one after another, and runs each before the next comes.
    async fn one_by_one(&self, letters: impl IntoIterator<Item = Letter>) {
        for letter in letters {
            assert_eq!(letter.send().await.status, 200);
            self.app.run_until_idle().await;
        }
    }

    /// State, and whether it was found stale, of each delivery in the order recorded.
    async fn outcomes(&self) -> Vec<String> {
        let query = "select state || case when stale_against is null then '' else ' (stale)' end
                     from oncehook.deliveries order by id";
        sqlx::query_scalar(query).fetch_all(&mut self.app.database().await).await.unwrap()
    }

    /// One member of each payload that the destination got, in order.
    fn got(&self, pointer: &str) -> Vec<String> {
        let read = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap().pointer(pointer).unwrap().to_string();
        self.destination.received().iter().map(|request| read(&request.body).trim_matches('"').to_owned()).collect()
    }
}

fn at(second: u32) -> String {
    format!("2026-01-05T10:02:{second:02}Z")
}

fn issue(action: &str, second: u32) -> Value {
    json!({ "action": action, "issue": { "id": 5, "updated_at": at(second) } })
}

fn push(from: &str, to: &str, second: u32) -> Value {
    json!({ "ref": "refs/heads/main", "before": from.repeat(40), "after": to.repeat(40),
            "repository": { "id": 1, "pushed_at": 1_767_607_320 + second } })
}

fn subscription(id: &str, created: u32, status: &str, before: Option<&str>) -> Value {
    let mut event = json!({
        "id": id, "object": "event", "type": "customer.subscription.updated", "created": 1_767_607_320 + created,
        "data": { "object": { "id": "sub_1", "status": status } },
    });
    if let Some(before) = before {
        event["data"]["previous_attributes"] = json!({ "status": before });
    }
    event
}

#[tokio::test]
async fn an_older_update_after_a_newer_one_is_skipped_and_says_why() {
    let stage = Stage::new().await;
    stage.one_by_one([stage.github("issues", &issue("labeled", 9)), stage.github("issues", &issue("edited", 7))]).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)"]);
    assert_eq!(stage.got("/action"), ["labeled"]);

    let mut conn = stage.app.database().await;
    let skipped = sqlx::query_scalar("select receipt_id from oncehook.deliveries where state = 'skipped'");
    let receipt: uuid::Uuid = skipped.fetch_one(&mut conn).await.unwrap();
    let story = oncehook::store::receipt_story::tell_receipt_story(&mut conn, receipt.into()).await.unwrap().unwrap();
    let stale = story.deliveries[0].stale.clone().unwrap();
    let expected = format!("stale: issue.updated_at 10:02:07 is older than 10:02:09 applied by {}", stale.against);
    assert_eq!(stale.why, expected);
    assert!(story.facts.version.unwrap().to_string().contains("2026-01-05 10:02:07"));
}

/// B061 and B062: neither the second event of a second nor its redelivery is judged by the second alone.
#[tokio::test]
async fn an_event_of_the_same_second_is_never_dropped() {
    let stage = Stage::new().await;
    let letters = ["opened", "labeled", "assigned"].map(|action| stage.github("issues", &issue(action, 7)));
    stage.one_by_one(letters).await;
    assert_eq!(stage.got("/action"), ["opened", "labeled", "assigned"]);
}

#[tokio::test]
async fn a_stale_delivery_that_is_asked_for_says_so_and_does_not_lower_what_was_applied() {
    let stage = Stage::with("on_stale = \"deliver\"", []).await;
    let seconds = [9, 5, 7, 9];
    stage.one_by_one(seconds.map(|second| stage.github("issues", &issue("edited", second)))).await;
    let stale: Vec<_> = stage
        .destination
        .received()
        .iter()
        .map(|request| request.header("oncehook-stale").map(str::to_owned))
        .collect();
    let yes = Some("true".to_owned());
    assert_eq!(stale, [None, yes.clone(), yes, None], "7 is older than 9 although 5 came between");
}

#[tokio::test]
async fn what_was_applied_outlives_its_lane() {
    let stage = Stage::new().await;
    stage.one_by_one([stage.github("issues", &issue("edited", 9))]).await;
    assert_eq!(stage.app.count("select count(*) from oncehook.lanes").await, 0);
    stage.app.advance(TimeDelta::days(20)).await;
    stage.one_by_one([stage.github("issues", &issue("edited", 8))]).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)"]);
}

#[tokio::test]
async fn a_check_that_is_queued_after_it_was_completed_is_stale() {
    let stage = Stage::new().await;
    let run = |status: &str, second: u32| json!({ "action": status, "check_run": { "id": 1, "status": status, "started_at": at(second) } });
    let letters = [("completed", 1), ("queued", 1)].map(|(status, at)| stage.github("check_run", &run(status, at)));
    stage.one_by_one(letters).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)"]);
}

#[tokio::test]
async fn a_second_attempt_that_begins_is_newer_than_a_first_one_that_is_completed() {
    let stage = Stage::new().await;
    let run = |attempt: u32, status: &str, second: u32| {
        let run = json!({ "id": 1, "run_attempt": attempt, "status": status, "updated_at": at(second) });
        stage.github("workflow_run", &json!({ "action": status, "workflow_run": run }))
    };
    stage.one_by_one([run(1, "completed", 9), run(2, "requested", 9), run(1, "in_progress", 20)]).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "succeeded", "skipped (stale)"]);
}

#[tokio::test]
async fn a_push_whose_successor_was_applied_is_stale_though_both_are_of_one_second() {
    let stage = Stage::new().await;
    stage.one_by_one([stage.github("push", &push("b", "c", 1)), stage.github("push", &push("a", "b", 1))]).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)"]);
}

#[tokio::test]
async fn a_branch_that_is_forced_back_and_forth_goes_by_time() {
    let stage = Stage::new().await;
    let pushes = [push("a", "b", 1), push("b", "a", 2), push("a", "b", 3), push("b", "a", 2), push("a", "b", 3)];
    stage.one_by_one(pushes.map(|body| stage.github("push", &body))).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "succeeded", "succeeded", "skipped (stale)", "succeeded"]);
}

#[tokio::test]
async fn creation_pushes_and_deletion_of_a_branch_are_one_history() {
    let stage = Stage::new().await;
    let branch =
        json!({ "ref": "main", "ref_type": "branch", "repository": { "id": 1, "pushed_at": "2026-01-05T10:02:05Z" } });
    let letters = [
        stage.github("push", &push("a", "b", 3)),
        stage.github("delete", &branch),
        stage.github("push", &push("x", "y", 4)),
        stage.github("push", &push("0", "d", 6)),
        stage.github("create", &branch),
    ];
    stage.one_by_one(letters).await;
    let expected = ["succeeded", "succeeded", "skipped (stale)", "succeeded", "skipped (stale)"];
    assert_eq!(stage.outcomes().await, expected);
    assert_eq!(stage.app.count("select count(*) from oncehook.applied_versions").await, 1);
}

#[tokio::test]
async fn events_without_a_time_run_in_the_order_of_their_arrival() {
    let stage = Stage::new().await;
    let label = |action: &str| stage.github("label", &json!({ "action": action, "label": { "id": 1 } }));
    for letter in [label("created"), label("edited"), label("deleted")] {
        letter.send().await;
    }
    stage.app.run_until_idle().await;
    assert_eq!(stage.got("/action"), ["created", "edited", "deleted"]);
}

#[tokio::test]
async fn one_comment_does_not_make_another_stale_in_a_lane_of_any_width() {
    let stage = Stage::with("ordering_key = '\"everything\"'", []).await;
    let comment = |issue: u32, id: u32, second: u32| {
        let body =
            json!({ "action": "created", "issue": { "id": issue }, "comment": { "id": id, "updated_at": at(second) } });
        stage.github("issue_comment", &body)
    };
    let other = json!({ "action": "edited", "issue": { "id": 6, "updated_at": at(1) } });
    let letters = [comment(5, 1, 9), comment(5, 2, 8), stage.github("issues", &issue("edited", 7))];
    stage.one_by_one(letters.into_iter().chain([stage.github("issues", &other)])).await;
    assert_eq!(stage.outcomes().await, ["succeeded"; 4]);
}

/// B061, B063: the later of two updates in one second is applied last, or alone.
#[tokio::test]
async fn two_updates_of_stripe_in_one_second_end_up_right_in_either_order() {
    let (first, second) =
        (subscription("evt_1", 0, "active", Some("incomplete")), subscription("evt_2", 0, "past_due", Some("active")));
    for (order, expected) in [([&first, &second], "succeeded"), ([&second, &first], "skipped (stale)")] {
        let stage = Stage::new().await;
        stage.one_by_one(order.map(|event| stage.app.sender().stripe(event))).await;
        assert_eq!(stage.outcomes().await, ["succeeded", expected]);
        assert_eq!(stage.got("/data/object/status").last().unwrap(), "past_due");
    }
    let stage = Stage::new().await;
    let (one, two) = (subscription("evt_1", 0, "active", None), subscription("evt_2", 0, "past_due", None));
    stage.one_by_one([&two, &one].map(|event| stage.app.sender().stripe(event))).await;
    assert_eq!(stage.outcomes().await, ["succeeded", "succeeded"], "nothing tells which is older");
}

/// B068: what is skipped is finished.
#[tokio::test]
async fn a_lane_goes_on_behind_a_stale_delivery() {
    let stage = Stage::new().await;
    stage.one_by_one([stage.github("issues", &issue("opened", 9))]).await;
    for letter in [stage.github("issues", &issue("edited", 7)), stage.github("issues", &issue("closed", 12))] {
        letter.send().await;
    }
    stage.app.run_until_idle().await;
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)", "succeeded"]);
    assert_eq!(stage.app.count("select count(*) from oncehook.lanes").await, 0);
}

#[tokio::test]
async fn a_dead_delivery_does_not_count_as_applied() {
    let stage = Stage::with("", [Reply::Status(404)]).await;
    stage.one_by_one([stage.github("issues", &issue("edited", 9)), stage.github("issues", &issue("edited", 7))]).await;
    assert_eq!(stage.outcomes().await, ["dead", "succeeded"]);
}

#[tokio::test]
async fn within_the_window_an_earlier_event_that_comes_late_overtakes() {
    let stage = Stage::with("reorder_window = \"3s\"", []).await;
    for letter in [stage.github("issues", &issue("closed", 9)), stage.github("issues", &issue("opened", 7))] {
        letter.send().await;
    }
    stage.app.run_until_idle().await;
    assert!(stage.destination.received().is_empty(), "the window is open");
    stage.app.advance(TimeDelta::seconds(4)).await;
    stage.app.run_until_idle().await;
    assert_eq!(stage.got("/action"), ["opened", "closed"]);
    assert_eq!(stage.outcomes().await, ["succeeded", "succeeded"]);
}

#[tokio::test]
async fn a_delivery_that_has_begun_is_not_overtaken() {
    let retry = "retry = { attempts = 3, initial = \"1s\", max = \"1s\" }";
    let stage = Stage::with(retry, [Reply::Status(503)]).await;
    // The first attempt fails: the delivery keeps its place at the head.
    stage.one_by_one([stage.github("issues", &issue("closed", 9)), stage.github("issues", &issue("opened", 7))]).await;
    stage.app.advance(TimeDelta::seconds(5)).await;
    stage.app.run_until_idle().await;
    assert_eq!(stage.got("/action"), ["closed", "closed"]);
    assert_eq!(stage.outcomes().await, ["succeeded", "skipped (stale)"]);
}
