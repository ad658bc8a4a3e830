//! Another page in the operator's browser cannot act in their name.

use oncehook::{clock::Clock, config};
use reqwest::{Method, RequestBuilder};

use crate::support::{
    app::TestApp,
    visitor::{Browser, KEEPER, VIEWER, Visitor, fill_in, reply, status},
};

/// Nobody's: who is let through to it gets 404.
const PATH: &str = "/nothing-here";

fn from(visitor: &Visitor, browser: &Browser, headers: &[(&str, &str)]) -> RequestBuilder {
    let request = visitor.post(PATH).header("cookie", &browser.cookie);
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

#[tokio::test]
async fn a_form_needs_the_token_of_its_own_session() {
    let app = TestApp::start_with_tokens("").await;
    let (browser, other) = (app.visitor().sign_in(KEEPER).await, app.visitor().sign_in(KEEPER).await);
    let token = browser.form_token();
    assert_eq!(status(fill_in(browser.post(PATH), &[("a", "b"), ("csrf", &token)])).await, 404);
    assert_eq!(status(browser.post(PATH).header("x-csrf-token", &token).body("{}")).await, 404);
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let request = app.visitor().request(method.clone(), PATH).header("cookie", &browser.cookie);
        assert_eq!(status(request.header("origin", app.visitor().url())).await, 403, "{method}");
    }
    for request in [
        browser.post(PATH),
        fill_in(browser.post(PATH), &[("a", "b")]),
        fill_in(browser.post(PATH), &[("csrf", "")]),
        fill_in(browser.post(PATH), &[("csrf", &token), ("csrf", &token)]),
        fill_in(browser.post(PATH), &[("csrf", &other.form_token())]),
        fill_in(browser.post(PATH), &[("csrf", &browser.cookie)]),
        fill_in(browser.post(&format!("{PATH}?csrf={token}")), &[("a", "b")]),
        browser.post(PATH).header("x-csrf-token", other.form_token()),
        browser.post(PATH).header("x-csrf-token", &token).header("x-csrf-token", &token),
        fill_in(browser.post(PATH).header("x-csrf-token", "wrong"), &[("csrf", &token)]),
        browser.post(PATH).header("content-type", "application/json").body(format!("{{\"csrf\":\"{token}\"}}")),
        browser.post(PATH).header("content-type", "text/plain").body(format!("csrf={token}")),
    ] {
        let refused = reply(request).await;
        assert_eq!(refused.status, 403, "{}", refused.text);
        assert!(refused.text.contains("csrf token"), "{}", refused.text);
    }
    let huge = "a".repeat(1 << 20);
    assert_eq!(status(fill_in(browser.post(PATH), &[("a", &huge), ("csrf", &token)])).await, 400);
}

#[tokio::test]
async fn a_form_needs_to_come_from_a_page_of_ours() {
    let app = TestApp::start_with_tokens("").await;
    let visitor = app.visitor();
    let browser = visitor.sign_in(KEEPER).await;
    let token = browser.form_token();
    let own = visitor.url().to_owned();
    let page = format!("{own}/receipts");
    let near = own.replace("127.0.0.1", "localhost");
    let deceptive = format!("{own}.evil.example");
    for (headers, expected) in [
        (vec![("origin", own.as_str())], 404),
        (vec![("referer", page.as_str())], 404),
        (vec![("origin", own.as_str()), ("sec-fetch-site", "same-origin")], 404),
        (vec![], 403),
        (vec![("origin", "null")], 403),
        (vec![("origin", "")], 403),
        (vec![("origin", "http://evil.example")], 403),
        (vec![("origin", near.as_str())], 403),
        (vec![("origin", deceptive.as_str())], 403),
        (vec![("origin", "null"), ("referer", page.as_str())], 403),
        (vec![("referer", "http://evil.example/")], 403),
        (vec![("origin", own.as_str()), ("origin", "http://evil.example")], 403),
        (vec![("origin", own.as_str()), ("sec-fetch-site", "cross-site")], 403),
        (vec![("origin", own.as_str()), ("sec-fetch-site", "same-site")], 403),
    ] {
        let request = fill_in(from(&visitor, &browser, &headers), &[("csrf", &token)]);
        assert_eq!(status(request).await, expected, "{headers:?}");
    }
    let api = app.visitor().post("/api/v1/nothing-here").header("cookie", &browser.cookie);
    let refused = reply(api.header("x-csrf-token", &token).header("origin", "http://evil.example")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (403, "forged"));
}

#[tokio::test]
async fn who_only_looks_cannot_send_forms_but_to_sign_out() {
    let app = TestApp::start_with_tokens("").await;
    let browser = app.visitor().sign_in(VIEWER).await;
    let token = browser.form_token();
    let refused = reply(fill_in(browser.post(PATH), &[("csrf", &token)])).await;
    assert!(refused.status == 403 && refused.text.contains("role operate"), "{}", refused.text);
    assert_eq!(status(fill_in(browser.post("/logout"), &[("csrf", "wrong")])).await, 403);
    assert_eq!(status(fill_in(browser.post("/logout"), &[("csrf", &token)])).await, 303);
}

/// Otherwise somebody could be signed in as somebody else, who then sees what they do.
#[tokio::test]
async fn the_sign_in_form_cannot_be_sent_by_another_page() {
    let app = TestApp::start_with_tokens("").await;
    let own = app.visitor().url().to_owned();
    for headers in [
        vec![],
        vec![("origin", "null")],
        vec![("origin", "http://evil.example")],
        vec![("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
    ] {
        let request = headers.iter().fold(app.visitor().post("/login"), |r, (name, value)| r.header(*name, *value));
        let refused = reply(fill_in(request, &[("token", KEEPER)])).await;
        assert_eq!(refused.status, 403, "{headers:?}");
        assert!(!refused.headers.contains_key("set-cookie"), "{headers:?}");
    }
}

/// No cookie guards it there: the page of another host could send whatever it likes.
#[tokio::test]
async fn without_auth_everybody_on_this_machine_is_let_in_and_other_pages_are_not() {
    let text = TestApp::config_with("[admin]", "");
    let app = TestApp::start_from(&text).await;
    let open = crate::support::visitor::without_auth(&app).await;
    let visitor = Visitor::to(&format!("http://{}", open.admin_address()));
    for path in ["/nothing-here", "/api/v1/nothing-here"] {
        assert_eq!(status(visitor.get(path)).await, 404);
        assert_eq!(status(visitor.post(path)).await, 404, "a program");
        assert_eq!(status(visitor.post(path).header("origin", visitor.url())).await, 404);
        for header in [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
            assert_eq!(status(visitor.post(path).header(header.0, header.1)).await, 403, "{header:?}");
        }
        assert_eq!(status(visitor.get(path).header("host", "evil.example")).await, 421);
    }
    assert_eq!(reply(visitor.get("/login?next=/receipts")).await.headers["location"], "/receipts");
    assert!(open.make_first_token().await.unwrap().is_none(), "nobody needs one");
    open.stop().await.unwrap();
}

#[tokio::test]
async fn without_auth_the_port_is_not_opened_to_other_machines() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let mut config = config::load(&crate::support::visitor::shipped(listen)).unwrap().config;
        config.admin.no_auth = true;
        let problem = config.admin.why_not_without_auth().unwrap();
        assert!(problem.contains("--no-auth") && problem.contains("127.0.0.1"), "{problem}");
        let app = TestApp::start().await;
        let refused = crate::support::visitor::start_on(&app, config, Clock::system()).await;
        let refused = format!("{:#}", refused.err().unwrap());
        assert!(refused.contains("--no-auth lets everybody in"), "{refused}");
    }
}
