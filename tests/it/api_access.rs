//! Who may do what at `/api/v1`: each operation of its description, by each kind of caller.

use chrono::TimeDelta;
use oncehook::admin::api::describe;
use reqwest::Method;

use crate::{
    api_document::operations,
    support::{
        app::TestApp,
        visitor::{KEEPER, VIEWER, status},
    },
};

/// A path that has the shape of one, to something that is not there.
fn filled(path: &str) -> String {
    path.replace("{receipt}", "rcp_01ke6vafet00000000000000r1")
        .replace("{delivery}", "dlv_01ke6vafet00000000000000r1")
        .replace("{attempt}", "att_01ke6vafet00000000000000r1")
        .replace("{conflict}", "999999")
        .replace("{bulk}", "00000000-0000-4000-8000-000000000000")
        .replace("{source}", "nowhere")
        .replace("{route}", "nowhere")
        .replace("{destination}", "nowhere")
}

#[tokio::test]
async fn each_operation_is_open_to_the_roles_that_may_and_closed_to_all_others() {
    let app = TestApp::start_with_api("").await;
    let mut orders = 0;
    for (number, (path, method, _)) in operations(&describe()).into_iter().enumerate() {
        let method: Method = method.to_uppercase().parse().unwrap();
        let at = format!("{method} {path}");
        let path = format!("/api/v1{}", filled(path));
        let request = || {
            let request =
                app.visitor().request(method.clone(), &path).header("idempotency-key", format!("matrix-{number}"));
            if method == Method::POST { request.header("content-type", "application/json").body("{}") } else { request }
        };
        assert_eq!(status(request()).await, 401, "{at}: without a token");
        // Wrong tokens are throttled.
        app.clock().advance(TimeDelta::hours(1));
        assert_eq!(status(request().bearer_auth("wrong-0123456789-abcdef")).await, 401, "{at}: with a wrong token");
        let by_viewer = status(request().bearer_auth(VIEWER)).await;
        let by_keeper = status(request().bearer_auth(KEEPER)).await;
        if method == Method::POST {
            orders += 1;
            assert_eq!(by_viewer, 403, "{at}: with the role read");
        } else {
            assert!(matches!(by_viewer, 200 | 400 | 404), "{at}: with the role read: {by_viewer}");
        }
        assert!(matches!(by_keeper, 200..=299 | 400 | 404 | 409 | 422), "{at}: with the role operate: {by_keeper}");
        assert!(
            by_keeper != 404
                || path.contains("01ke6vafet")
                || path.contains("nowhere")
                || path.contains("999999")
                || path.contains("00000000-"),
            "{at}"
        );
    }
    assert_eq!(orders, 13);
    assert_eq!(
        app.count("select count(*) from oncehook.audit where action <> 'login'").await,
        0,
        "nothing was changed"
    );
}
