//! An appliance to which something of everything has happened: what lists are tried on.

use serde_json::{Value, json};

use super::{
    app::TestApp,
    destination::{Reply, TestDestination},
};

/// What has happened.
pub struct Scene {
    pub app: TestApp,
    pub delivered: String,
    pub dead: String,
    pub conflict: i64,
    /// The receipt that has the conflict, and the dead delivery.
    pub receipt: String,
    /// A receipt that is held as a suspected replay.
    pub held: String,
    _desk: TestDestination,
}

impl Scene {
    /// Two pushes, one of which a destination refuses, in a lane that this blocks; a conflict; a held replay.
    pub async fn start() -> Self {
        let desk = TestDestination::start([Reply::Answer(422, Vec::new(), b"no".to_vec())]).await;
        let more = format!(
            r#"
[sources.watched]
provider = "standard_webhooks"
secrets = [{{ env = "STANDARD_SECRET" }}]
replay_guard = "hold"
[destinations.desk]
kind = "http"
url = "{}"
[[routes]]
name = "deploy"
source = "github"
events = ["push"]
destination = "desk"
on_dead = "block"
[[routes]]
name = "watched-demo"
source = "watched"
events = ["*"]
destination = "demo"
"#,
            desk.url()
        );
        let mut app = TestApp::start_with_api(&more).await;
        app.may_leave_work();
        let first = app.sender().push("main").header("x-custom", "a<b>").send().await;
        assert_eq!(first.status, 200, "{}", first.text);
        app.run_until_idle().await;
        let receipt = first.text_of("receipt");
        let same_id = app.sender().push("main").id("00000000-0000-0000-0000-000000000001");
        assert_eq!(same_id.send().await.status, 200);
        assert_eq!(same_id.clone().body(r#"{"ref":"refs/heads/evil"}"#).send().await.status, 409);
        assert_eq!(same_id.send().await.status, 200);
        let body = r#"{"type":"order.paid","data":{"n":1}}"#;
        for _ in 0..2 {
            assert_eq!(app.sender().standard(body).source("watched").send().await.status, 200);
        }
        app.run_until_idle().await;
        app.write_figures().await;
        let keeper = app.keeper();
        let held = keeper.see("/receipts?held=true").await;
        let deliveries = keeper.see("/deliveries").await;
        let of = |state: &str| {
            let found = items(&deliveries).iter().find(|line| line["state"] == state).cloned();
            text(&found.unwrap_or_else(|| panic!("none is {state}: {deliveries}"))["delivery"])
        };
        let conflict = keeper.see("/conflicts").await["items"][0]["conflict"].as_i64().unwrap();
        Self {
            delivered: of("succeeded"),
            dead: of("dead"),
            conflict,
            receipt,
            held: text(&held["items"][0]["receipt"]),
            app,
            _desk: desk,
        }
    }

    /// The lane that the dead delivery blocks, as an order names it.
    pub async fn blocked_lane(&self) -> Value {
        let lanes = self.app.viewer().see("/lanes?blocked=true").await;
        json!({ "route": lanes["items"][0]["route"], "ordering_key": lanes["items"][0]["ordering_key"] })
    }
}

/// What is on a page.
pub fn items(page: &Value) -> &Vec<Value> {
    page["items"].as_array().unwrap_or_else(|| panic!("no page: {page}"))
}

/// A text of an answer.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
