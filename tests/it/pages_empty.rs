//! Pages of an appliance at which nothing has happened yet: each teaches what it will show and how the first of it comes.

use crate::support::{
    app::TestApp,
    dashboard::{Dashboard, looked_at},
    visitor::{TOKENS, reply},
};

#[tokio::test]
async fn each_page_without_data_teaches() {
    let desk = Dashboard::open().await;
    let taught = [
        ("/", "Nothing has come in yet"),
        ("/receipts", "A receipt is the durable record of one event"),
        ("/deliveries", "each route that matches it makes one delivery"),
        ("/dead-letters", "A delivery becomes one when"),
        ("/lanes", "Every delivery is finished, so there is no lane"),
        ("/conflicts", "a second, different payload under an id"),
        ("/bulks", "a whole group can be retried or discarded"),
        ("/sources", "waiting for the first delivery…"),
        ("/destinations", "Pausing holds deliveries back without losing any"),
    ];
    for (path, lesson) in taught {
        let page = desk.page(path).await;
        assert!(page.text.contains(lesson), "{path} does not say {lesson:?}: {}", page.text);
    }
}

#[tokio::test]
async fn a_configuration_without_destinations_says_what_to_write() {
    let config = format!(
        "[intake]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n{TOKENS}\n\
         [sources.github]\nprovider = \"github\"\nsecrets = [{{ env = \"GITHUB_SECRET\" }}]\n"
    );
    let desk = Dashboard::of(TestApp::start_from(&config).await).await;
    assert!(desk.page("/destinations").await.text.contains("[destinations.NAME]"));
    assert!(desk.page("/sources").await.text.contains("what comes in is stored and delivered nowhere"));
}

#[tokio::test]
async fn what_is_not_there_is_said_on_a_page_that_says_what_to_do() {
    let desk = Dashboard::open().await;
    let cases = [
        ("/nothing-here", 404, "There is no such page"),
        ("/receipts/rcp_01ke6vafet00000000000000r1", 404, "There is no receipt rcp_01ke6vafet00000000000000r1"),
        ("/receipts/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404, "There is no receipt <script>alert(1)</script>"),
        ("/deliveries/dlv_01ke6vafet00000000000000d1", 404, "Search for the provider's own id"),
        ("/conflicts/7", 404, "There is no conflict 7"),
        ("/conflicts/x", 404, "There is no conflict x"),
        ("/sources/gitlab", 404, "The configuration does not have it"),
        ("/receipts?state=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", 400, "That question cannot be answered"),
        ("/deliveries?since=yesterday", 400, "change it in the form"),
        ("/bulks/new?action=explode&route=x", 400, "use retry, replay, discard or cancel"),
        ("/bulks/new?action=discard", 409, "Nothing was ticked."),
        ("/deliveries/dlv_01ke6vafet00000000000000d1/explode", 404, "There is no page explode"),
    ];
    for (path, status, told) in cases {
        let reply = desk.get(path).await;
        assert_eq!(reply.status, status, "{path}");
        let page = looked_at(&reply);
        assert!(page.text.contains(told), "{path} does not say {told:?}: {}", page.text);
    }
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_asked_to() {
    let app = TestApp::start_with_tokens("").await;
    let login = looked_at(&reply(app.visitor().get("/login?next=/receipts")).await);
    let form = login.form("/login");
    assert!(form.fields.contains(&("next".to_owned(), "/receipts".to_owned())));
    assert_eq!(login.all("nav").count(), 0, "nothing of the inside is shown");
    let refused = reply(app.visitor().login("<script>alert(1)</script>", "/")).await;
    assert_eq!(refused.status, 401);
    assert!(looked_at(&refused).text.contains("Nobody has this token"));
}

#[tokio::test]
async fn files_are_kept_for_ever_under_an_address_that_changes_with_them() {
    let desk = Dashboard::open().await;
    let page = desk.page("/receipts").await;
    let sheet = page.all("link").find(|link| link.get("rel") == "stylesheet").unwrap().get("href").to_owned();
    let reply = desk.get(&sheet).await;
    assert_eq!(
        (reply.status, reply.headers["cache-control"].to_str().unwrap()),
        (200, "public, max-age=31536000, immutable")
    );
    assert_eq!(reply.headers["content-type"], "text/css; charset=utf-8");
    assert!(reply.headers.contains_key("etag"));
    let old = desk.get("/static/000000000000/oncehook.css").await;
    assert_eq!((old.status, old.headers["cache-control"].to_str().unwrap()), (200, "no-cache"));
    assert_eq!(desk.get("/static/000000000000/..%2Fmod.rs").await.status, 404);
}
