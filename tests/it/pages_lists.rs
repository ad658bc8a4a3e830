//! Lists: filters in the address, pages by cursor, and what is done to many at once.

use crate::support::{
    dashboard::Dashboard,
    desk::{by, operator},
    destination::{Reply, TestDestination},
};

fn service(destination: &TestDestination, more: &str) -> String {
    format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n\
         [[routes]]\nname = \"deploy\"\nsource = \"github\"\nevents = [\"push\"]\ndestination = \"service\"\n\
         retry = {{ attempts = 1 }}\n{more}",
        destination.url()
    )
}

/// An appliance with so many dead letters.
async fn with_dead_letters(number: usize, more: &str) -> (Dashboard, TestDestination) {
    let destination = TestDestination::start((0..number).map(|_| Reply::Status(400))).await;
    let desk = Dashboard::open_with(&service(&destination, more)).await;
    for at in 0..number {
        desk.app.sender().push(&format!("branch-{at}")).send().await;
    }
    desk.app.run_until_idle().await;
    (desk, destination)
}

#[tokio::test]
async fn a_filter_stands_in_the_address_and_stays_while_one_turns_pages() {
    let desk = Dashboard::open().await;
    for at in 0..60 {
        desk.app.sender().push(&format!("branch-{at}")).send().await;
    }
    desk.app.sender().stripe(&serde_json::json!({ "id": "evt_1", "type": "invoice.paid" })).send().await;
    desk.app.run_until_idle().await;
    let form = desk.page("/receipts").await.form("/receipts");
    let reply = desk.send(&form, &[("source", "github"), ("state", "succeeded"), ("type", "push")]).await;
    let page = crate::support::dashboard::looked_at(&reply);
    assert_eq!(page.all("tr").count(), 1 + 50);
    let next = page.link("Next page");
    assert!(next.starts_with("/receipts?") && next.contains("source=github") && next.contains("cursor="), "{next}");
    let second = desk.page(&next).await;
    assert_eq!(second.all("tr").count(), 1 + 10);
    assert!(second.text.contains("This is the end of the list."));
    assert!(!second.link("To the first page").contains("cursor"));
    let found = desk.page("/receipts?path=id&value=evt_1").await;
    assert_eq!(found.all("tr").count(), 1 + 1);
    let none = desk.page("/receipts?source=standard").await;
    assert!(none.text.contains("No receipt passes this filter"), "{}", none.text);
}

#[tokio::test]
async fn a_group_of_dead_letters_is_discarded_with_a_reason_and_a_count() {
    let (desk, _destination) = with_dead_letters(7, "").await;
    let page = desk.page("/dead-letters").await;
    assert!(page.text.contains("7 dead letters: deploy → service"), "{}", page.text);
    let discard = page.link("Discard 7…");
    let asked = desk.page(&discard).await;
    assert!(asked.text.contains("Discard 7 dead letters?"), "{}", asked.text);
    let form = asked.form("/bulks");
    assert!(asked.all("textarea").next().unwrap().attributes.contains_key("required"), "a reason must be given");
    let reply = desk.send(&form, &[("reason", "sent to the wrong branch")]).await;
    assert_eq!(reply.status, 303, "{}", reply.text);
    let place = reply.headers["location"].to_str().unwrap().to_owned();
    let progress = desk.page(&place).await;
    assert!(progress.text.contains("Discard 7 dead letters"), "{}", progress.text);
    while desk.app.desk_to_look().work_bulks().await.unwrap() {}
    let progress = desk.page(&place).await;
    assert!(progress.text.contains("7 of 7") && progress.text.contains("done"), "{}", progress.text);
    assert!(desk.page("/dead-letters").await.text.contains("There are no dead letters"));
    assert!(desk.page("/audit").await.text.contains("sent to the wrong branch"));
    assert!(desk.page("/bulks").await.text.contains("7 of 7"));
}

#[tokio::test]
async fn ticked_dead_letters_are_retried_and_the_others_stay() {
    let (desk, _destination) = with_dead_letters(4, "").await;
    let page = desk.page("/dead-letters").await;
    let ids: Vec<String> =
        page.all("input").filter(|tag| tag.get("name") == "only").map(|tag| tag.get("value").to_owned()).collect();
    let form = page.form("/bulks/new");
    let asked = desk.send(&form, &[("action", "retry"), ("only", &ids[0]), ("only", &ids[2])]).await;
    let asked = crate::support::dashboard::looked_at(&asked);
    assert!(asked.text.contains("Retry 2 deliveries"), "{}", asked.text);
    let reply = desk.send(&asked.form("/bulks"), &[]).await;
    assert_eq!(reply.status, 303, "{}", reply.text);
    while desk.app.desk_to_look().work_bulks().await.unwrap() {}
    desk.app.run_until_idle().await;
    assert_eq!(desk.app.states().await, [("dead".to_owned(), 2), ("succeeded".to_owned(), 6)]);
}

#[tokio::test]
async fn a_bulk_that_would_meet_more_than_were_counted_does_nothing() {
    let (desk, destination) = with_dead_letters(2, "").await;
    let form = desk.page(&desk.page("/dead-letters").await.link("Discard 2…")).await.form("/bulks");
    destination.then(Reply::Status(400));
    desk.app.sender().push("later").send().await;
    desk.app.run_until_idle().await;
    let reply = desk.send(&form, &[("reason", "old")]).await;
    assert_eq!(reply.status, 409, "{}", reply.text);
    assert_eq!(desk.app.count("select count(*) from oncehook.deliveries where state = 'dead'").await, 3);
}

#[tokio::test]
async fn a_blocked_lane_is_let_go_on() {
    let destination = TestDestination::start([Reply::Status(400)]).await;
    let desk = Dashboard::open_with(&service(&destination, "on_dead = \"block\"\n")).await;
    desk.app.sender().push("main").send().await;
    desk.app
        .sender()
        .push("main")
        .header("x-n", "2")
        .body(r#"{"ref":"refs/heads/main","repository":{"id":1},"n":2}"#)
        .send()
        .await;
    desk.app.run_until_idle().await;
    let page = desk.page("/lanes?blocked=true").await;
    let (_, page) = desk.confirm(&page.link("Unblock the lane…"), "Unblock 1 lane with 1 waiting", "not needed").await;
    assert!(page.text.contains("The lane goes on."), "{}", page.text);
    desk.app.run_until_idle().await;
    assert_eq!(desk.app.states().await, [("dead".to_owned(), 1), ("succeeded".to_owned(), 3)]);
}

#[tokio::test]
async fn a_conflict_is_compared_and_promoted() {
    let desk = Dashboard::open().await;
    let letter = desk.app.sender().push("main").id("guid-1");
    letter.send().await;
    letter.clone().body(r#"{"ref":"refs/heads/other","repository":{"id":1}}"#).send().await;
    desk.app.run_until_idle().await;
    let list = desk.page("/conflicts?promoted=false").await;
    let page = desk.page(&list.link("Conflict 1")).await;
    assert!(page.text.contains("refs/heads/other") && page.text.contains("refs/heads/main"), "{}", page.text);
    let (place, page) = desk.confirm(&page.link("Promote 1 conflict…"), "Promote 1 conflict", "both were meant").await;
    assert!(place.starts_with("/receipts/rcp_") && place.ends_with("?done=promoted"), "{place}");
    assert!(page.text.contains("promoted: conflict 1"), "{}", page.text);
    desk.app.run_until_idle().await;
    assert!(desk.page("/conflicts/1").await.text.contains("It was promoted"));
}

#[tokio::test]
async fn a_held_receipt_is_released() {
    let config = crate::support::app::TestApp::config_with("[admin]", crate::support::visitor::TOKENS)
        .replace("provider = \"github\"", "provider = \"github\"\nreplay_guard = \"hold\"");
    let desk = Dashboard::of(crate::support::app::TestApp::start_from(&config).await).await;
    desk.app.sender().push("main").id("guid-1").send().await;
    let held = desk.app.sender().push("main").id("guid-2").send().await.text_of("receipt");
    let page = desk.page(&format!("/receipts/{held}")).await;
    assert!(page.text.contains("Held: its bytes came before"), "{}", page.text);
    assert_eq!(desk.page("/receipts?held=true").await.all("tr").count(), 1 + 1);
    let (_, page) = desk.confirm(&page.link("Release this receipt…"), "Release 1 receipt", "").await;
    assert!(page.text.contains("Released."), "{}", page.text);
    desk.app.run_until_idle().await;
    assert_eq!(desk.app.states().await, [("succeeded".to_owned(), 2)]);
}

#[tokio::test]
async fn the_overview_names_what_is_wrong_first_and_the_light_of_a_source_turns_green() {
    let (desk, _destination) = with_dead_letters(6, "").await;
    desk.app.write_figures().await;
    desk.app.desk_to_look().pause(oncehook::operate::Pausable::Route, "github-demo", by(&operator())).await.unwrap();
    for range in ["", "?range=15m", "?range=6h", "?range=24h", "?range=7d", "?range=31d", "?range=%3Cscript%3E"] {
        let page = desk.page(&format!("/{range}")).await;
        for told in ["6 dead letters", "The route github-demo is paused by ada: since it must", "service fails"] {
            assert!(page.text.contains(told), "{told:?} is not on {range}: {}", page.text);
        }
        assert_eq!(page.all("figure").count(), 4);
    }
    let sources = desk.page("/sources").await;
    assert!(
        sources.text.contains("receiving") && sources.text.contains("waiting for the first delivery…"),
        "{}",
        sources.text
    );
    let setup = desk.page("/sources/github").await;
    assert!(setup.text.contains("/hooks/github") && setup.text.contains("Content type"), "{}", setup.text);
}
