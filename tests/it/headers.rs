//! What each answer of the operator's port tells browsers.

use crate::support::{
    app::TestApp,
    visitor::{KEEPER, reply},
};

const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                       form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[tokio::test]
async fn each_answer_keeps_browsers_from_running_framing_and_keeping_it() {
    let app = TestApp::start_with_tokens("").await;
    let visitor = app.visitor();
    let browser = visitor.sign_in(KEEPER).await;
    for (request, expected) in [
        (visitor.get("/livez"), 200),
        (visitor.get("/metrics"), 200),
        (visitor.get("/login"), 200),
        (visitor.get("/receipts"), 303),
        (visitor.get("/static"), 303),
        (visitor.login("wrong-token-0123456789", "/"), 401),
        (visitor.login(KEEPER, "/"), 303),
        (visitor.post("/login"), 415),
        (visitor.get("/api/v1/nothing-here"), 401),
        (visitor.get("/api/v1/nothing-here").bearer_auth(KEEPER), 404),
        (visitor.get("/nothing-here").header("host", "evil.example"), 421),
        (browser.get("/nothing-here"), 404),
        (browser.post("/nothing-here"), 403),
    ] {
        let reply = reply(request).await;
        assert_eq!(reply.status, expected, "{}", reply.text);
        for (name, value) in [
            ("content-security-policy", CONTENT),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            let values: Vec<_> = reply.headers.get_all(name).iter().collect();
            assert_eq!(values, [value], "{name} of {expected}");
        }
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
        assert!(!reply.headers.contains_key("server"));
    }
}

#[tokio::test]
async fn the_sign_in_page_keeps_to_its_own_rules() {
    let app = TestApp::start_with_tokens("").await;
    let page = reply(app.visitor().get("/login?next=/receipts")).await.text;
    let scripts = page.matches("<script").count();
    assert_eq!(
        page.matches("<script type=\"module\" src=\"/static/").count(),
        scripts,
        "a script of another kind in {page}"
    );
    for forbidden in ["<style", "style=", " onclick", " onsubmit", " onload", "http:", "https:"] {
        assert!(!page.contains(forbidden), "{forbidden} in {page}");
    }
    for needed in
        ["<html lang=\"en\">", "<title>", "<label for=\"token\">", "id=\"token\"", "type=\"password\"", "<h1>"]
    {
        assert!(page.contains(needed), "{needed} in {page}");
    }
}
