//! What operators do, in a browser: from the first run to a green light, from an id to a replay, a thousand dead letters at
//! once, a conflict promoted, and markup that does not run.

use crate::support::{
    chromium::Chromium,
    dashboard::Dashboard,
    destination::{Reply, TestDestination},
    hostile::{MARKUP, as_id},
    visitor::KEEPER,
};

async fn sign_in(browser: &Chromium, desk: &Dashboard, path: &str) {
    browser.go(&format!("{}{path}", desk.app.visitor().url())).await;
    browser.fill("token", KEEPER).await;
    browser.press("Sign in").await;
    browser.sees("Log out").await;
}

#[tokio::test]
async fn from_the_first_run_to_the_green_light() {
    let Some(browser) = Chromium::start().await else { return };
    let desk = Dashboard::open().await;
    sign_in(&browser, &desk, "/").await;
    browser.sees("Nothing has come in yet").await;
    browser.press("Sources").await;
    browser.press("Set up github").await;
    browser.sees("waiting for the first delivery…").await;
    desk.app.sender().push("main").send().await;
    // Nobody loads the page anew: it does so itself.
    browser.sees("receiving").await;
    desk.app.run_until_idle().await;
    browser.press("Log out").await;
    browser.sees("Sign in to Oncehook").await;
    browser.close().await;
}

#[tokio::test]
async fn a_delivery_is_found_by_its_guid_and_replayed() {
    let Some(browser) = Chromium::start().await else { return };
    let desk = Dashboard::open().await;
    desk.app.sender().push("main").id("0b989ba4-242f-11e5-81e1-c7b6966d2516").send().await;
    desk.app.run_until_idle().await;
    sign_in(&browser, &desk, "/receipts").await;
    browser.fill("find", "0b989ba4-242f-11e5-81e1-c7b6966d2516").await;
    browser.press("Find").await;
    browser.sees("succeeded on attempt 1").await;
    browser.press("Replay 1 delivery of this receipt…").await;
    browser.press("Replay 1 delivery").await;
    browser.sees("Asked for again.").await;
    desk.app.run_until_idle().await;
    browser.sees("succeeded on attempt 2").await;
    browser.close().await;
}

#[tokio::test]
async fn a_thousand_dead_letters_are_retried_at_once_and_the_page_shows_how_far_it_is() {
    let Some(browser) = Chromium::start().await else { return };
    let destination = TestDestination::start([]).await;
    let mut desk = Dashboard::open_with(&format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n[[routes]]\nname = \"deploy\"\nsource = \"github\"\n\
         events = [\"push\"]\ndestination = \"service\"\n",
        destination.url()
    ))
    .await;
    desk.app.may_leave_work();
    // One event is taken in; the others are made of it, and all die.
    assert_eq!(desk.app.sender().push("main").send().await.status, 200);
    let others = "
        insert into oncehook.receipts
        select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'delivery_id', 'n-' || n))).*
        from oncehook.receipts r, generate_series(2, 1000) n;
        insert into oncehook.payloads select (jsonb_populate_record(p, jsonb_build_object('receipt_id', r.id))).*
        from oncehook.payloads p, oncehook.receipts r where r.id <> p.receipt_id;
        insert into oncehook.deliveries
        select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'receipt_id', r.id,
                                                            'seq', nextval(pg_get_serial_sequence('oncehook.deliveries', 'seq'))))).*
        from oncehook.deliveries d, oncehook.receipts r where r.id <> d.receipt_id and d.route = 'deploy';
        update oncehook.deliveries set state = 'dead', finished_at = oncehook.now(), last_error = 'answered 503' where route = 'deploy';
        delete from oncehook.lanes where route = 'deploy'";
    sqlx::raw_sql(others).execute(&mut desk.app.database().await).await.unwrap();
    sign_in(&browser, &desk, "/dead-letters").await;
    browser.press("Retry 1,000…").await;
    browser.sees("Retry 1,000 deliveries?").await;
    browser.press("Retry 1,000 deliveries").await;
    browser.sees("0 of 1,000").await;
    let worker = desk.app.desk_to_look();
    assert!(worker.work_bulks().await.unwrap());
    browser.sees("500 of 1,000").await;
    while worker.work_bulks().await.unwrap() {}
    browser.sees("1,000 of 1,000").await;
    browser.close().await;
}

#[tokio::test]
async fn a_conflict_is_promoted() {
    let Some(browser) = Chromium::start().await else { return };
    let desk = Dashboard::open().await;
    let letter = desk.app.sender().push("main").id("guid-1");
    letter.send().await;
    letter.clone().body(r#"{"ref":"refs/heads/other","repository":{"id":1}}"#).send().await;
    desk.app.run_until_idle().await;
    sign_in(&browser, &desk, "/conflicts").await;
    browser.press("Conflict 1").await;
    browser.sees("refs/heads/other").await;
    browser.press("Promote 1 conflict…").await;
    browser.press("Promote 1 conflict").await;
    browser.sees("This receipt was made of the conflict’s payload.".replace('’', "'").as_str()).await;
    desk.app.run_until_idle().await;
    browser.close().await;
}

#[tokio::test]
async fn markup_of_senders_runs_nowhere_and_the_policy_has_nothing_to_refuse() {
    let Some(browser) = Chromium::start().await else { return };
    let answers = MARKUP.iter().map(|text| Reply::Answer(400, vec![], text.as_bytes().to_vec()));
    let destination = TestDestination::start(answers).await;
    let desk = Dashboard::open_with(&format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n[[routes]]\nname = \"deploy\"\nsource = \"github\"\n\
         events = [\"*\"]\ndestination = \"service\"\n",
        destination.url()
    ))
    .await;
    let mut receipts = Vec::new();
    for (number, text) in MARKUP.iter().enumerate() {
        let body = serde_json::json!({ "title": text, *text: number }).to_string();
        let letter = desk.app.sender().github(&as_id(text), body).id(&format!("{}-{number}", as_id(text)));
        receipts.push(letter.header("x-note", text.as_bytes()).send().await.text_of("receipt"));
    }
    desk.app.run_until_idle().await;
    sign_in(&browser, &desk, "/").await;
    let url = desk.app.visitor().url().to_owned();
    let lists = ["/receipts", "/deliveries", "/dead-letters", "/lanes"].map(ToOwned::to_owned);
    for path in receipts.iter().map(|receipt| format!("/receipts/{receipt}")).chain(lists) {
        browser.go(&format!("{url}{path}")).await;
        let refused: Vec<String> = browser
            .complaints()
            .await
            .into_iter()
            .filter(|told| told.contains("Security Policy") || told.contains("alert"))
            .collect();
        assert!(refused.is_empty(), "{path}: {refused:?}");
    }
    browser.close().await;
}
