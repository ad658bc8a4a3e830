//! What happens now, as a stream: each receipt and each try of a delivery, from where the reader left off.

use futures_util::StreamExt as _;
use reqwest::{Method, Response};

use crate::support::{app::TestApp, until::in_time};

/// A stream that is read event by event.
struct Events {
    response: futures_util::stream::BoxStream<'static, String>,
    unread: String,
}

impl Events {
    async fn open(app: &TestApp, path: &str, last_event_id: Option<&str>) -> Self {
        let mut request = app.viewer().request(Method::GET, path);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response: Response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let chunks = futures_util::stream::unfold(response, async |mut response| {
            let chunk = response.chunk().await.ok()??;
            Some((String::from_utf8(chunk.to_vec()).unwrap(), response))
        });
        let mut events = Self { response: chunks.boxed(), unread: String::new() };
        assert!(events.next().await.starts_with("retry: "));
        events
    }

    /// The next event, whole.
    async fn next(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let event = self.unread[..end].to_owned();
                self.unread.drain(..end + 2);
                return event;
            }
            let chunk = in_time("an event", self.response.next()).await.expect("the stream goes on");
            self.unread.push_str(&chunk);
        }
    }

    /// The next event of this name, with its data.
    async fn next_of(&mut self, name: &str) -> serde_json::Value {
        loop {
            let event = self.next().await;
            if event.lines().any(|line| line == format!("event: {name}")) {
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

/// Sees events until the one of `receipt` comes; the poller may have begun to look only after what was sent first.
async fn until_seen(events: &mut Events, receipt: &str) {
    while events.next_of("receipt").await["receipt"] != receipt {}
}

#[tokio::test]
async fn a_stream_tells_of_receipts_and_of_what_becomes_of_their_deliveries() {
    let app = TestApp::start_with_api("").await;
    let mut events = Events::open(&app, "/events", None).await;
    let mut of_stripe = Events::open(&app, "/events?source=stripe&type=invoice", None).await;
    // The poller first looks where to begin; from the second receipt on all are told.
    let (receipt, delivery) = loop {
        let sent = app.sender().push("main").send().await;
        app.run_until_idle().await;
        let told = tokio::time::timeout(std::time::Duration::from_secs(3), events.next_of("receipt")).await;
        if let Ok(told) = told {
            assert_eq!(told["receipt"], sent.text_of("receipt"));
            break (told, events.next_of("delivery").await);
        }
    };
    assert_eq!((&receipt["source"], &receipt["type"]), (&"github".into(), &"push".into()));
    assert_eq!((&delivery["receipt"], &delivery["state"]), (&receipt["receipt"], &"succeeded".into()));
    let body = serde_json::json!({ "id": "evt_1", "type": "invoice.paid", "created": app.clock().now().timestamp() });
    let sent = app.sender().stripe(&body).send().await;
    assert_eq!(of_stripe.next_of("receipt").await["receipt"], sent.text_of("receipt"), "and none of github");
    app.run_until_idle().await;
}

#[tokio::test]
async fn a_stream_goes_on_behind_the_receipt_that_was_seen_last() {
    let app = TestApp::start_with_api("").await;
    let mut sent = Vec::new();
    for number in 0..5 {
        sent.push(app.sender().push(&format!("b{number}")).send().await.text_of("receipt"));
    }
    app.run_until_idle().await;
    for path in ["/events", &format!("/events?after={}", sent[0])] {
        let header = (path == "/events").then_some(sent[0].as_str());
        let mut events = Events::open(&app, path, header).await;
        for receipt in &sent[1..] {
            assert_eq!(events.next_of("receipt").await["receipt"], *receipt);
        }
        // What comes in while it catches up comes once.
        let next = app.sender().push("next").send().await.text_of("receipt");
        app.run_until_idle().await;
        until_seen(&mut events, &next).await;
        let last = app.sender().push("last").send().await.text_of("receipt");
        app.run_until_idle().await;
        assert_eq!(events.next_of("receipt").await["receipt"], last, "and nothing twice");
        sent.truncate(1);
        sent.extend([next, last]);
        let all = app.viewer().see("/receipts?limit=500").await;
        let mut ids: Vec<String> =
            all["items"].as_array().unwrap().iter().map(|l| l["receipt"].as_str().unwrap().to_owned()).collect();
        ids.reverse();
        sent = ids;
    }
    let refused = app.viewer().get("/events?after=rcp_1").await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn so_many_streams_are_open_at_once_and_no_more() {
    let app = TestApp::start_with_api("").await;
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(Events::open(&app, "/events", None).await);
    }
    let refused = app.viewer().get("/events").await;
    assert_eq!((refused.status, refused.text_of("type").as_str()), (503, "urn:oncehook:problem:busy"));
    drop(open);
    crate::support::until::until("a place is free again", async || {
        app.viewer().request(Method::GET, "/events").send().await.unwrap().status() == 200
    })
    .await;
}
