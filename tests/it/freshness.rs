//! Signed times: what is too old or too new is refused at the door, and never asked about again behind it.

use chrono::TimeDelta;
use oncehook::{domain::Secret, verify::Scheme};
use serde_json::json;

use crate::support::{
    app::{STRIPE_SECRET, TestApp},
    sender::Letter,
};

fn event(app: &TestApp, id: &str) -> Letter {
    app.sender().stripe(&json!({ "id": id, "object": "event", "type": "invoice.paid" }))
}

#[tokio::test]
async fn a_signed_time_may_be_five_minutes_off_and_no_more() {
    let app = TestApp::start().await;
    let seconds = TimeDelta::seconds;
    for (id, off, status) in
        [("a", 0, 200), ("b", -290, 200), ("c", 290, 200), ("d", -310, 401), ("e", 310, 401), ("f", -86_400, 401)]
    {
        let reply = event(&app, id).signed_later(seconds(off)).send().await;
        assert_eq!(reply.status, status, "{off} s: {}", reply.text);
        let body = json!({ "type": "a.b", "id": id }).to_string();
        assert_eq!(app.sender().standard(body).signed_later(seconds(off)).send().await.status, status, "{off} s");
    }
    app.run_until_idle().await;
}

/// B037: rightly signed, with a time in milliseconds.
#[tokio::test]
async fn a_time_in_milliseconds_is_in_the_future() {
    let app = TestApp::start().await;
    let letter = event(&app, "evt_1");
    let milliseconds = app.clock().now() + TimeDelta::seconds(app.clock().now().timestamp() * 999);
    let secret = Secret::new(STRIPE_SECRET.into());
    let body = letter.wire();
    let body = &body[body.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4..];
    let [(name, value)] = Scheme::Stripe.sign(&secret, "", milliseconds, body).try_into().unwrap();
    let reply = letter.unsigned().header(name, value).send().await.presentable();
    assert_eq!((reply.status, reply.problem().as_str()), (401, "future-timestamp"), "{}", reply.text);
}

/// B039: the time counts when the event comes in, not when its turn comes.
#[tokio::test]
async fn an_event_that_waited_an_hour_inside_is_still_run() {
    let app = TestApp::start().await;
    let letter = event(&app, "evt_1");
    let receipt = letter.send().await.receipt();
    app.advance(TimeDelta::hours(1)).await;
    assert_eq!(letter.send().await.problem(), "stale-timestamp", "the same request, too late now");
    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
    let (signed, received): (chrono::DateTime<chrono::Utc>, chrono::DateTime<chrono::Utc>) = (
        app.of_receipt("select signed_at from oncehook.receipts where id = $1", &receipt).await,
        app.of_receipt("select received_at from oncehook.receipts where id = $1", &receipt).await,
    );
    assert!((received - signed).abs() < TimeDelta::minutes(5), "both are kept: {signed} {received}");
}
