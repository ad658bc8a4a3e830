//! Sessions on the pages: how they begin, and everything that ends them.

use std::time::Duration;

use chrono::TimeDelta;
use oncehook::operate::{self, Operator, Role, Via};

use crate::support::{
    app::TestApp,
    visitor::{KEEPER, VIEWER, cookie_of, fill_in, reply, status},
};

const SESSIONS: &str = "select count(*) from oncehook.operator_sessions";

#[tokio::test]
async fn a_token_begins_a_session_in_a_cookie_that_no_script_and_no_other_page_gets() {
    let app = TestApp::start_with_tokens("").await;
    let reply = reply(app.visitor().login(&format!("  {VIEWER}\n"), "/receipts?source=github")).await;
    assert_eq!((reply.status, &reply.headers["location"]), (303, &"/receipts?source=github".parse().unwrap()));
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    let (value, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(attributes, " Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(value.len(), "oncehook_session=".len() + 64, "32 random bytes");
    let page = app.visitor().get("/nothing-here").header("cookie", value);
    assert_eq!(status(page).await, 404, "it lets in");
    assert_eq!(status(app.visitor().get("/nothing-here").header("cookie", value.replace('=', "=0"))).await, 303);
}

#[tokio::test]
async fn behind_tls_the_cookie_goes_through_tls_only() {
    let app = TestApp::start_with_tokens("public_url = \"https://hooks.example.com\"").await;
    let login = app.visitor().post("/login").header("host", "hooks.example.com");
    let login = fill_in(login.header("origin", "https://hooks.example.com"), &[("token", KEEPER)]);
    let reply = reply(login).await;
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-oncehook_session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    let value = cookie_of(&reply);
    assert_eq!(status(app.visitor().get("/nothing-here").header("cookie", &value)).await, 404);
    let plain = value.trim_start_matches("__Host-");
    assert_eq!(status(app.visitor().get("/nothing-here").header("cookie", plain)).await, 303, "any host may set that");
}

#[tokio::test]
async fn whoever_is_not_signed_in_is_led_to_the_form_and_back() {
    let app = TestApp::start_with_tokens("").await;
    let reply = reply(app.visitor().get("/receipts?id=a%20b&x=%3Cscript%3E")).await;
    let form = reply.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(form, "/login?next=%2Freceipts%3Fid%3Da%2520b%26x%3D%253Cscript%253E");
    let page = crate::support::visitor::reply(app.visitor().get(&form)).await;
    assert!(page.text.contains("name=\"next\" value=\"/receipts?id=a%20b&#38;x=%3Cscript%3E\""), "{}", page.text);
    for elsewhere in
        ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "\"><script>"]
    {
        let reply = crate::support::visitor::reply(app.visitor().login(KEEPER, elsewhere)).await;
        assert_eq!(reply.headers["location"], "/", "{elsewhere}");
        let mut url = url::Url::parse(&format!("{}/login", app.visitor().url())).unwrap();
        url.query_pairs_mut().append_pair("next", elsewhere);
        let path = &url[url::Position::BeforePath..];
        let page = crate::support::visitor::reply(app.visitor().get(path)).await;
        assert!(page.text.contains("name=\"next\" value=\"/\""), "{}", page.text);
    }
}

/// A link in a chat comes without the cookie, which is SameSite=Strict: our own page asks once more.
#[tokio::test]
async fn a_link_from_elsewhere_takes_a_detour_over_a_page_of_ours() {
    let app = TestApp::start_with_tokens("").await;
    let linked = |path: &str| {
        let request = app.visitor().get(path).header("sec-fetch-site", "cross-site");
        request.header("sec-fetch-mode", "navigate")
    };
    let page = reply(linked("/receipts?id=\"'a&b=c")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("content=\"0; url=/receipts?id=%22%27a&#38;b=c\""), "{}", page.text);
    let page = reply(linked("//evil.example/x")).await;
    assert!(!page.text.contains("evil"), "{}", page.text);
    assert_eq!(status(linked("/api/v1/me")).await, 401);
    let asked_again = app.visitor().get("/receipts").header("sec-fetch-site", "same-origin");
    assert_eq!(status(asked_again.header("sec-fetch-mode", "navigate")).await, 303);
}

#[tokio::test]
async fn a_session_ends_when_nobody_looks_and_when_its_day_is_over() {
    let app = TestApp::start_with_tokens("session_idle = \"30m\"\nsession_max = \"2h\"").await;
    let looked_at = app.visitor().sign_in(KEEPER).await;
    let left = app.visitor().sign_in(KEEPER).await;
    app.advance(TimeDelta::minutes(29)).await;
    assert!(looked_at.is_signed_in().await);
    app.advance(TimeDelta::minutes(1)).await;
    assert!(looked_at.is_signed_in().await && !left.is_signed_in().await);
    for _ in 0..4 {
        app.advance(TimeDelta::minutes(20)).await;
        assert!(looked_at.is_signed_in().await);
    }
    app.advance(TimeDelta::minutes(10)).await;
    assert!(!looked_at.is_signed_in().await, "two hours are over");
    assert_eq!(status(looked_at.get("/receipts")).await, 303);
    assert_eq!(app.count(SESSIONS).await, 2);
    app.visitor().sign_in(KEEPER).await;
    assert_eq!(app.count(SESSIONS).await, 1, "those that are over were cleared away");
}

#[tokio::test]
async fn a_page_that_keeps_itself_up_to_date_is_nobody_who_looks() {
    let app = TestApp::start_with_tokens("").await;
    let browser = app.visitor().sign_in(VIEWER).await;
    for _ in 0..2 {
        app.advance(TimeDelta::minutes(14)).await;
        let stream = browser.get("/api/v1/nothing-here").header("accept", "text/event-stream");
        assert_eq!(status(stream).await, 404);
    }
    app.advance(TimeDelta::minutes(2)).await;
    assert!(!browser.is_signed_in().await);
}

#[tokio::test]
async fn signing_in_makes_a_new_session_and_ends_the_one_before() {
    let app = TestApp::start_with_tokens("").await;
    let before = app.visitor().sign_in(VIEWER).await;
    let again = app.visitor().login(KEEPER, "/").header("cookie", &before.cookie);
    let after = cookie_of(&reply(again).await);
    assert_ne!(after, before.cookie);
    assert!(!before.is_signed_in().await);
    assert_eq!(app.count(SESSIONS).await, 1);
    // A cookie that somebody else has put there is not taken over.
    let planted = format!("oncehook_session={}", "ab".repeat(32));
    let after = cookie_of(&reply(app.visitor().login(KEEPER, "/").header("cookie", &planted)).await);
    assert_ne!(after, planted);
}

#[tokio::test]
async fn signing_out_ends_the_session_for_everybody_who_has_its_cookie() {
    let app = TestApp::start_with_tokens("").await;
    let (browser, other) = (app.visitor().sign_in(VIEWER).await, app.visitor().sign_in(VIEWER).await);
    let out = reply(fill_in(browser.post("/logout"), &[("csrf", &browser.form_token())])).await;
    assert_eq!((out.status, out.headers["location"].to_str().unwrap()), (303, "/login"));
    let cookie = out.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("oncehook_session=; ") && cookie.ends_with("; Max-Age=0"), "{cookie}");
    assert!(!browser.is_signed_in().await && other.is_signed_in().await);
    assert_eq!(status(browser.get("/logout")).await, 303, "and a link does not do it");
    assert_eq!(status(other.get("/logout")).await, 405);
    assert!(other.is_signed_in().await);
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let app = TestApp::start_with_tokens("").await;
    let by = Operator { name: "test".to_owned(), role: Role::Operate, via: Via::CommandLine };
    let revoked = app.visitor().sign_in(&app.token("revoked", Role::Operate, None).await).await;
    let hour = Some(Duration::from_secs(600));
    let short = app.visitor().sign_in(&app.token("short", Role::Operate, hour).await).await;
    let configured = app.visitor().sign_in(KEEPER).await;
    let other = app.visitor().sign_in(VIEWER).await;
    assert!(revoked.is_signed_in().await && short.is_signed_in().await && configured.is_signed_in().await);

    let mut conn = app.database().await;
    let done = operate::revoke_token(&mut conn, &"revoked".parse().unwrap(), &by).await.unwrap();
    assert_eq!(done.sessions, 1);
    assert!(!revoked.is_signed_in().await);
    // Nor does another token of that name bring it back.
    app.token("revoked", Role::Operate, None).await;
    assert!(!revoked.is_signed_in().await);
    app.advance(TimeDelta::minutes(10)).await;
    assert!(!short.is_signed_in().await, "its token's time is over");

    // As if the configuration had another secret under that name since.
    let changed = "update oncehook.operator_sessions set fingerprint = '00000000' where configured_token = 'keeper'";
    sqlx::query(changed).execute(&mut conn).await.unwrap();
    assert!(!configured.is_signed_in().await && other.is_signed_in().await);
    let gone = "update oncehook.operator_sessions set configured_token = 'gone' where configured_token = 'viewer'";
    sqlx::query(gone).execute(&mut conn).await.unwrap();
    assert!(!other.is_signed_in().await);
}

#[tokio::test]
async fn one_token_has_so_many_sessions_and_not_more() {
    let app = TestApp::start_with_tokens("").await;
    let first = app.visitor().sign_in(VIEWER).await;
    for _ in 0..50 {
        app.advance(TimeDelta::seconds(1)).await;
        app.visitor().sign_in(VIEWER).await;
    }
    assert_eq!(app.count(SESSIONS).await, 50);
    assert!(!first.is_signed_in().await);
}
