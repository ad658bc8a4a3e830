//! Each row of the table of answers (DESIGN.md 3.4), over HTTP.

use serde_json::json;

use crate::support::app::TestApp;

#[tokio::test]
async fn a_stored_event_is_answered_with_its_receipt() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let reply = letter.send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.text_of("status"), "accepted");
    assert!(reply.text_of("receipt").starts_with("rcp_"));
    assert_eq!(reply.text_of("event_type"), "push");
    assert_eq!(reply.json()["deliveries"], json!(1));
    assert!(reply.text.len() <= 300, "providers keep the beginning only: {}", reply.text);

    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}
