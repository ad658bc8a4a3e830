//! An appliance to which a working day has happened: deliveries that went well, some that did not, a blocked lane, a conflict, a
//! held receipt, a pause.

use chrono::TimeDelta;
use oncehook::{
    domain::DeliveryState,
    operate::{DeliveryQuery, Operator, Pausable, Role, Via},
};

use super::{
    app::TestApp,
    dashboard::Dashboard,
    desk::by,
    destination::{Reply, TestDestination},
    visitor::TOKENS,
};

/// What the showcase is made of.
pub struct Showcase {
    pub desk: Dashboard,
    /// Answers as long as this lives.
    _destination: TestDestination,
    /// A receipt with a conflict, a duplicate and a dead delivery.
    pub receipt: String,
}

fn config(destination: &TestDestination) -> String {
    let admin = TestApp::config_with("[admin]", TOKENS);
    let guarded = admin.replace("provider = \"github\"", "provider = \"github\"\nreplay_guard = \"hold\"");
    format!(
        "{guarded}\n[destinations.deployer]\nkind = \"http\"\nurl = \"{}\"\n\
         [[routes]]\nname = \"deploy\"\nsource = \"github\"\nevents = [\"push\"]\ndestination = \"deployer\"\non_dead = \"block\"\n\
         retry = {{ attempts = 2, initial = \"1s\", max = \"1s\" }}\n\
         [[routes]]\nname = \"invoices\"\nsource = \"stripe\"\nevents = [\"invoice.*\"]\ndestination = \"deployer\"\n\
         filter = 'payload.livemode == true'\n",
        destination.url()
    )
}

/// Makes it.
pub async fn showcase() -> Showcase {
    let destination = TestDestination::start([Reply::Status(200), Reply::Status(200)]).await;
    let mut desk = Dashboard::of(TestApp::start_from(&config(&destination)).await).await;
    desk.app.may_leave_work();
    let app = &desk.app;
    for branch in ["main", "release/2"] {
        app.sender().push(branch).send().await;
    }
    for number in 0..12 {
        let body = serde_json::json!({ "action": "opened", "pull_request": { "id": number, "number": number, "updated_at": "2026-01-05T10:00:00Z" }, "repository": { "id": 1, "full_name": "octo/shop" } });
        app.sender().github("pull_request", body.to_string()).send().await;
    }
    for number in 0..4 {
        let body = serde_json::json!({ "id": format!("evt_{number}"), "type": "invoice.paid", "created": 1_767_607_200, "livemode": number % 2 == 0, "data": { "object": { "id": format!("in_{number}") } } });
        app.sender().stripe(&body).send().await;
    }
    app.sender().push("main").unsigned().send().await;
    app.run_until_idle().await;
    for _ in 0..40 {
        destination.then(Reply::Answer(
            503,
            vec![],
            b"upstream connect error or disconnect/reset before headers".to_vec(),
        ));
    }
    let delivery_id = "0b989ba4-242f-11e5-81e1-c7b6966d2516";
    let body = serde_json::json!({ "ref": "refs/heads/hotfix", "before": "a".repeat(40), "after": "b".repeat(40), "repository": { "id": 1, "full_name": "octo/shop", "private": true }, "pusher": { "name": "octocat" }, "commits": [{ "id": "b".repeat(40), "message": "Mend the checkout" }] });
    let letter = app.sender().github("push", body.to_string()).id(delivery_id);
    let receipt = letter.send().await.text_of("receipt");
    letter.send().await;
    letter
        .clone()
        .body(body.to_string().replace("Mend the checkout", "Break the checkout").replace("octocat", "mallory"))
        .send()
        .await;
    letter.clone().id("9d5f6a10-0000-4000-8000-000000000001").send().await;
    let again = body.to_string().replace("Mend", "Polish");
    app.sender().github("push", again).send().await;
    for branch in ["one", "two", "three"] {
        app.sender().push(branch).send().await;
    }
    for _ in 0..3 {
        app.run_until_idle().await;
        app.advance(TimeDelta::seconds(5)).await;
    }
    let ada = Operator { name: "ada".to_owned(), role: Role::Operate, via: Via::CommandLine };
    let query = DeliveryQuery { state: Some(DeliveryState::Dead), limit: Some(1), ..DeliveryQuery::default() };
    let dead = desk.app.desk_to_look().deliveries(&query).await.unwrap().items[0].id;
    desk.app.desk_to_look().discard(dead, by(&ada)).await.unwrap();
    desk.app.desk_to_look().pause(Pausable::Route, "stripe-demo", by(&ada)).await.unwrap();
    desk.app.write_figures().await;
    Showcase { desk, _destination: destination, receipt }
}
