//! Whatever senders and destinations write stays text on every page (pitfall B141).

use crate::support::{
    dashboard::Dashboard,
    destination::{Reply, TestDestination},
    hostile::{MARKUP, as_id},
    markup::Markup,
};

/// Text as a page shows it: what cannot be seen is written out.
fn shown(text: &str) -> String {
    text.replace('\u{202e}', "\\u{202e}")
}

#[tokio::test]
async fn markup_in_payloads_headers_ids_and_answers_stays_text_everywhere() {
    let answers = MARKUP.iter().map(|text| Reply::Answer(400, vec![], text.as_bytes().to_vec()));
    let destination = TestDestination::start(answers).await;
    let desk = Dashboard::open_with(&format!(
        "[destinations.service]\nkind = \"http\"\nurl = \"{}\"\n\
         [[routes]]\nname = \"deploy\"\nsource = \"github\"\nevents = [\"*\"]\ndestination = \"service\"\norder = \"arrival\"\n\
         ordering_key = \"/title\"\n",
        destination.url()
    ))
    .await;
    let mut receipts = Vec::new();
    for (number, text) in MARKUP.iter().enumerate() {
        let body = serde_json::json!({ "title": text, *text: number, "repository": { "id": number } }).to_string();
        let id = format!("{}-{number}", as_id(text));
        let letter = desk.app.sender().github(&as_id(text), body).id(&id).header("x-note", text.as_bytes());
        let letter = letter.header("user-agent", as_id(text)).header("x-github-hook-id", as_id(text));
        let sent = letter.send().await;
        assert_eq!(sent.status, 200, "{}", sent.text);
        letter.body(serde_json::json!({ "title": "other", "was": text }).to_string()).send().await;
        receipts.push((sent.text_of("receipt"), id, *text));
    }
    desk.app.run_until_idle().await;
    for (receipt, id, text) in &receipts {
        let page = desk.page(&format!("/receipts/{receipt}")).await;
        let json = serde_json::to_string(&shown(text)).unwrap().replace("\\\\u{202e}", "\\u{202e}");
        assert!(page.text.contains(&json), "{json} is not in the payload: {}", page.text);
        assert!(page.text.contains(id.as_str()), "{id}");
        assert!(page.text.contains(&shown(text)), "the header or the answer shows {text:?}");
        let query = url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        for path in [
            "/search?q=",
            "/receipts?q=",
            "/receipts?type=",
            "/deliveries?error=",
            "/audit?subject=",
            "/lanes?ordering_key=",
            "/?done=",
        ] {
            desk.page(&format!("{path}{query}")).await;
        }
    }
    for path in [
        "/",
        "/receipts",
        "/deliveries",
        "/dead-letters",
        "/lanes",
        "/conflicts",
        "/conflicts/1",
        "/destinations",
        "/sources/github",
    ] {
        desk.page(path).await;
    }
}

#[tokio::test]
async fn a_reason_with_markup_stays_text_and_one_that_is_too_long_is_refused() {
    let desk = Dashboard::open().await;
    for (number, text) in MARKUP.iter().enumerate() {
        let (act, button) = if number % 2 == 0 { ("pause", "Pause 1 route") } else { ("resume", "Resume 1 route") };
        desk.confirm(&format!("/routes/github-demo/{act}"), button, text).await;
        let audit = desk.page("/audit").await;
        assert!(audit.text.contains(&shown(text)), "{text:?}: {}", audit.text);
        desk.page("/destinations").await;
        desk.page("/").await;
    }
    let form = desk.page("/routes/github-demo/pause").await.form("/routes/github-demo/pause");
    let refused = desk.send(&form, &[("reason", &"x".repeat(501))]).await;
    assert_eq!(refused.status, 400);
    assert!(Markup::read(&refused.text).text.contains("reason"), "{}", refused.text);
}

#[tokio::test]
async fn what_a_link_says_was_done_is_never_text_of_the_link() {
    let desk = Dashboard::open().await;
    let page = desk.page("/?done=Your+account+is+locked").await;
    assert!(!page.text.contains("Your account"));
    assert!(desk.page("/?done=paused").await.text.contains("Paused."));
}
