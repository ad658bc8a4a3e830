//! Tokens cannot be tried out: by one address not often, and by all together not either.

use chrono::TimeDelta;
use oncehook::operate::Role;

use crate::support::{
    app::TestApp,
    log::Log,
    visitor::{KEEPER, reply, status},
};

const WRONG: &str = "nobodys-token-0123456789";

#[tokio::test]
async fn after_some_wrong_tokens_even_the_right_one_has_to_wait() {
    let log = Log::capture();
    let app = TestApp::start_with_tokens("").await;
    for _ in 0..5 {
        let refused = reply(app.visitor().login(WRONG, "/receipts")).await;
        assert_eq!(refused.status, 401);
        assert!(refused.text.contains("Nobody has this token") && refused.text.contains("value=\"/receipts\""));
        assert!(!refused.headers.contains_key("set-cookie") && !refused.text.contains(WRONG));
    }
    for token in [WRONG, KEEPER] {
        let refused = reply(app.visitor().login(token, "/")).await;
        assert_eq!(refused.status, 429);
        let wait: i64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=12).contains(&wait), "{wait}");
        assert!(refused.text.contains("too many wrong tokens"), "{}", refused.text);
    }
    // Programs go on: they have nothing to do with it.
    assert_eq!(status(app.visitor().get("/api/v1/nothing-here").bearer_auth(KEEPER)).await, 404);
    app.advance(TimeDelta::seconds(12)).await;
    app.visitor().sign_in(KEEPER).await;
    for (outcome, expected) in [("accepted", 1), ("refused", 5), ("throttled", 2)] {
        assert_eq!(app.metric(&format!("oncehook_sign_ins_total{{outcome=\"{outcome}\"}}")).await, expected);
    }
    let logged = log.text();
    assert!(logged.contains("somebody tried to sign in with a token that nobody has peer=127.0.0.1"), "{logged}");
    assert!(!logged.contains(WRONG));
}

#[tokio::test]
async fn who_has_a_token_may_sign_in_as_often_as_they_like() {
    let app = TestApp::start_with_tokens("").await;
    for _ in 0..20 {
        app.visitor().sign_in(KEEPER).await;
    }
    for _ in 0..4 {
        assert_eq!(status(app.visitor().login(WRONG, "/")).await, 401);
    }
    for _ in 0..5 {
        app.visitor().sign_in(KEEPER).await;
    }
    assert_eq!(status(app.visitor().login(WRONG, "/")).await, 401);
    assert_eq!(status(app.visitor().login(WRONG, "/")).await, 429);
}

#[tokio::test]
async fn bearer_tokens_cannot_be_tried_out_either() {
    let app = TestApp::start_with_tokens("").await;
    let stored = app.token("anna", Role::Read, None).await;
    let wrong = format!("och_{}", "0".repeat(64));
    let asked = async |token: &str| status(app.visitor().get("/api/v1/nothing-here").bearer_auth(token)).await;
    let mut tried = 0;
    while asked(&wrong).await == 401 {
        tried += 1;
        // While this goes on, the clock does too.
        assert!(tried < 1_000, "there is no end to it");
    }
    assert!(tried >= 60, "{tried}");
    let refused = reply(app.visitor().get("/api/v1/nothing-here").bearer_auth("och_another")).await;
    assert!([(429, "throttled"), (401, "wrong-token")].contains(&(refused.status, refused.problem().as_str())));
    assert!(refused.status == 401 || refused.headers["retry-after"] == "1");
    assert_eq!(asked(KEEPER).await, 404, "what the configuration says is not looked up");
    app.advance(TimeDelta::seconds(5)).await;
    assert_eq!(asked(&stored).await, 404);
}
