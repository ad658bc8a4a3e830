//! The first question: what happened to delivery X, and what do I do now? From any id to the receipt, and what can be done
//! from there, without JavaScript.

use crate::support::{
    dashboard::Dashboard,
    destination::{Reply, TestDestination},
};

/// A destination of kind http with one attempt for each delivery, and a second route to the log.
fn service(destination: &TestDestination) -> String {
    format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n\
         [[routes]]\nname = \"deploy\"\nsource = \"github\"\nevents = [\"push\"]\ndestination = \"service\"\n\
         retry = {{ attempts = 1 }}\n",
        destination.url()
    )
}

#[tokio::test]
async fn any_id_leads_straight_to_the_receipt() {
    let desk = Dashboard::open().await;
    let sent = desk.app.sender().push("main").id("0b989ba4-242f-11e5-81e1-c7b6966d2516").send().await;
    desk.app.run_until_idle().await;
    let receipt = sent.text_of("receipt");
    let place = format!("/receipts/{receipt}");
    assert_eq!(desk.led_to("/search?q=0b989ba4-242f-11e5-81e1-c7b6966d2516").await, place);
    assert_eq!(desk.led_to(&format!("/search?q=++{receipt}%0A")).await, place, "as it is pasted");
    let delivery: String = desk.page(&place).await.all("article").next().unwrap().get("id").to_owned();
    assert_eq!(desk.led_to(&format!("/search?q={delivery}")).await, format!("{place}#{delivery}"));
    assert_eq!(desk.led_to(&format!("/deliveries/{delivery}")).await, format!("{place}#{delivery}"));
    let page = desk.page("/search?q=nowhere").await;
    assert!(page.text.contains("Nothing is known under nowhere"), "{}", page.text);
    assert!(page.tags.iter().any(|tag| tag.get("id") == "find" && tag.get("value") == "nowhere"), "it can be mended");
}

#[tokio::test]
async fn a_receipt_says_what_happened_and_shows_all_that_is_known() {
    let destination = TestDestination::start([Reply::Answer(500, vec![], b"out of <b>order</b>".to_vec())]).await;
    let desk = Dashboard::open_with(&service(&destination)).await;
    let letter = desk.app.sender().push("main").id("guid-1");
    let receipt = letter.send().await.text_of("receipt");
    letter.send().await;
    letter.clone().body(r#"{"ref":"refs/heads/evil","repository":{"id":1}}"#).send().await;
    desk.app.run_until_idle().await;
    let page = desk.page(&format!("/receipts/{receipt}")).await;
    for told in [
        "deploy → service: is a dead letter after 1 attempt",
        "Mend the cause and retry it",
        "github-demo → demo: succeeded on attempt 1",
        "1 other payload came under the same delivery id",
        "Idempotency-Key: dlv_",
        "out of <b>order</b>",
        "\"ref\": \"refs/heads/main\"",
        "Received from 127.0.0.1",
        "Came again from 127.0.0.1: duplicate",
        "Came again from 127.0.0.1: conflict",
        "deploy → service: a dead letter.",
        "(not shown,",
        "only in the other: \"ref\": \"refs/heads/evil\"",
        "What each route of github says today",
    ] {
        let text: String = page.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(told), "{told:?} is not on the page: {text}");
    }
    let download = page.link("Download the bytes");
    assert_eq!(download, format!("/api/v1/receipts/{receipt}/payload?format=raw"));
}

#[tokio::test]
async fn a_dead_letter_is_retried_from_its_receipt() {
    let destination = TestDestination::start([Reply::Status(400), Reply::Status(200)]).await;
    let desk = Dashboard::open_with(&service(&destination)).await;
    let receipt = desk.app.sender().push("main").send().await.text_of("receipt");
    desk.app.run_until_idle().await;
    let page = desk.page(&format!("/receipts/{receipt}")).await;
    let retry = page.link("Retry deploy…");
    let asked = desk.page(&retry).await;
    assert!(asked.text.contains("deploy → service, now dead."), "{}", asked.text);
    let (place, page) = desk.confirm(&retry, "Retry 1 delivery", "the service is up again").await;
    assert!(place.starts_with(&format!("/receipts/{receipt}?done=retried#dlv_")), "{place}");
    assert!(page.text.contains("Asked for once more."), "{}", page.text);
    desk.app.run_until_idle().await;
    let page = desk.page(&format!("/receipts/{receipt}")).await;
    assert!(page.text.contains("All 2 deliveries succeeded."), "{}", page.text);
    let audit = desk.page("/audit").await;
    assert!(audit.text.contains("the service is up again") && audit.text.contains("keeper"), "{}", audit.text);
}

#[tokio::test]
async fn a_receipt_is_replayed_whole_or_through_one_route() {
    let desk = Dashboard::open().await;
    let receipt = desk.app.sender().push("main").send().await.text_of("receipt");
    desk.app.run_until_idle().await;
    let page = desk.page(&format!("/receipts/{receipt}")).await;
    let (place, page) = desk.confirm(&page.link("Replay 1 delivery of this receipt…"), "Replay 1 delivery", "").await;
    assert_eq!(place, format!("/receipts/{receipt}?done=replayed"));
    assert!(page.text.contains("Asked for again."), "{}", page.text);
    desk.app.run_until_idle().await;
    let page = desk.page(&format!("/receipts/{receipt}")).await;
    let (_, page) = desk.confirm(&page.link("Replay this route…"), "Replay 1 delivery of github-demo", "again").await;
    assert!(page.text.contains("is next in line"), "{}", page.text);
    desk.app.run_until_idle().await;
    let attempts = desk.app.count("select count(*) from oncehook.attempts").await;
    assert_eq!(attempts, 3);
}

#[tokio::test]
async fn whoever_may_only_look_sees_no_button_and_is_refused() {
    let desk = Dashboard::open().await;
    let receipt = desk.app.sender().push("main").send().await.text_of("receipt");
    desk.app.run_until_idle().await;
    let desk = desk.only_looking().await;
    for path in [&format!("/receipts/{receipt}"), "/destinations", "/dead-letters", "/lanes", "/deliveries"] {
        let page = desk.page(path).await;
        let posts: Vec<&str> =
            page.all("form").filter(|form| form.get("method") == "post").map(|form| form.get("action")).collect();
        assert_eq!(posts, ["/logout"], "{path}");
        assert!(!page.all("a").any(|link| link.text.ends_with('…')), "{path}");
    }
    let asked = desk.page(&format!("/receipts/{receipt}/replay")).await;
    assert!(asked.text.contains("changing things needs the role operate"), "{}", asked.text);
    let form = crate::support::markup::Form {
        action: format!("/receipts/{receipt}/replay"),
        method: "post".to_owned(),
        fields: asked.form("/logout").fields,
        buttons: Vec::new(),
    };
    assert_eq!(desk.send(&form, &[]).await.status, 403);
}
