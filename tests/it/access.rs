//! Who may use the operator's port: tokens, roles, and that nothing is open that is not named as such.

use std::time::Duration;

use chrono::TimeDelta;
use oncehook::operate::{self, Operator, Role, Via};
use reqwest::Method;

use crate::support::{
    app::TestApp,
    connection::Connection,
    log::Log,
    visitor::{KEEPER, VIEWER, reply, status},
};

/// Paths as they are, will be, and never were.
const CLOSED: [&str; 20] = [
    "/",
    "/receipts",
    "/receipts/rcp_01ke6vafet00000000000000r1",
    "/dead-letters",
    "/audit",
    "/logout",
    "/login/",
    "/login/x",
    "/livez/",
    "//livez",
    "/LIVEZ",
    "/metrics%2f",
    "/metrics/../api/v1/me",
    "/static",
    "/api",
    "/api/v1",
    "/api/v1/me",
    "/api/v1/receipts?limit=1",
    "/api/v1/events",
    "/api/v1/openapi.json",
];

fn by() -> Operator {
    Operator { name: "test".to_owned(), role: Role::Operate, via: Via::CommandLine }
}

#[tokio::test]
async fn everything_on_the_operators_port_is_closed_but_what_is_named_as_open() {
    let app = TestApp::start_with_tokens("").await;
    for path in ["/livez", "/readyz", "/metrics", "/login"] {
        assert_eq!(status(app.visitor().get(path)).await, 200, "{path}");
    }
    for path in CLOSED {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FROBNICATE"] {
            // Byte by byte: a client would tidy the path.
            let mut wire = Connection::to(app.app().admin_address()).await;
            wire.send(format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n")).await;
            let reply = wire.answer_to(method).await.unwrap();
            if path.starts_with("/api") {
                assert_eq!(reply.status, 401, "{method} {path}");
                assert_eq!(reply.headers["www-authenticate"], "Bearer", "{method} {path}");
                assert_eq!(reply.headers["content-type"], "application/problem+json", "{method} {path}");
            } else {
                assert_eq!(reply.status, 303, "{method} {path}");
                assert!(reply.headers["location"].to_str().unwrap().starts_with("/login"), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn each_path_of_the_api_is_closed_to_strangers_and_its_changes_to_those_who_only_look() {
    let app = TestApp::start_with_tokens("").await;
    let description = reply(app.visitor().get("/api/v1/openapi.json").bearer_auth(VIEWER)).await;
    // Without an API there is nothing to walk.
    let paths = description.json()["paths"].as_object().cloned().unwrap_or_default();
    for (path, methods) in paths {
        let path = path.replace(['{', '}'], "");
        let path = if path.starts_with("/api/v1") { path } else { format!("/api/v1{path}") };
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            assert_eq!(status(app.visitor().request(method.clone(), &path)).await, 401, "{method} {path}");
            let request = app.visitor().request(method.clone(), &path).bearer_auth(VIEWER);
            let looked = status(request.timeout(Duration::from_secs(30))).await;
            assert_eq!(looked == 403, method != Method::GET, "{method} {path}: {looked}");
            assert_ne!(looked, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_token_lets_in_by_its_role() {
    let app = TestApp::start_with_tokens("").await;
    let stored = app.token("anna", Role::Operate, None).await;
    let looks = app.token("lars", Role::Read, None).await;
    for (token, may_look, may_operate) in [
        (VIEWER, true, false),
        (KEEPER, true, true),
        (&stored, true, true),
        (&looks, true, false),
        (&stored.to_uppercase(), false, false),
        (&stored[..stored.len() - 1], false, false),
        (&format!("och_{}", "0".repeat(64)), false, false),
        ("nobodys-token-0123456789", false, false),
    ] {
        for path in ["/nothing-here", "/api/v1/nothing-here"] {
            let looked = status(app.visitor().get(path).bearer_auth(token)).await;
            assert_eq!(looked, if may_look { 404 } else { 401 }, "{path}");
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                let changed = status(app.visitor().request(method, path).bearer_auth(token)).await;
                let expected = match (may_look, may_operate) {
                    (false, _) => 401,
                    (_, false) => 403,
                    _ => 404,
                };
                assert_eq!(changed, expected, "{path}");
            }
        }
    }
    let refused = reply(app.visitor().post("/api/v1/nothing-here").bearer_auth(VIEWER)).await;
    assert_eq!(refused.problem(), "may-not-operate");
    assert!(refused.text_of("detail").contains("the token viewer has the role read"), "{}", refused.text);
    assert_eq!(app.metric("oncehook_tokens_refused_total").await, 4 * 10);
}

#[tokio::test]
async fn a_token_ends_when_its_time_is_over_or_it_is_revoked() {
    let app = TestApp::start_with_tokens("").await;
    let short = app.token("short", Role::Read, Some(Duration::from_secs(3_600))).await;
    let long = app.token("long", Role::Read, None).await;
    let looked = async |token: &str| status(app.visitor().get("/api/v1/nothing-here").bearer_auth(token)).await;
    app.advance(TimeDelta::minutes(59)).await;
    assert_eq!((looked(&short).await, looked(&long).await), (404, 404));
    app.advance(TimeDelta::minutes(1)).await;
    assert_eq!((looked(&short).await, looked(&long).await), (401, 404));
    let mut conn = app.database().await;
    let lines = operate::list_tokens(&mut conn).await.unwrap();
    assert_eq!(
        lines.iter().map(|line| (line.name.as_str(), line.is_expired)).collect::<Vec<_>>(),
        [("long", false), ("short", true)]
    );
    assert!(lines.iter().all(|line| line.last_used_at.is_some()), "{lines:?}");
    operate::revoke_token(&mut conn, &"long".parse().unwrap(), &by()).await.unwrap();
    assert_eq!(looked(&long).await, 401);
    assert!(operate::revoke_token(&mut conn, &"long".parse().unwrap(), &by()).await.is_err());
    assert!(operate::create_token(&mut conn, &"short".parse().unwrap(), Role::Read, None, &by()).await.is_err());
}

#[tokio::test]
async fn processes_that_start_together_make_one_first_token() {
    let app = TestApp::start().await;
    let (one, two) = (app.another().await, app.another().await);
    let made = tokio::join!(app.app().make_first_token(), one.make_first_token(), two.make_first_token());
    let made: Vec<_> = [made.0, made.1, made.2].into_iter().filter_map(|made| made.unwrap()).collect();
    assert_eq!(made.len(), 1);
    assert_eq!(app.count("select count(*) from oncehook.operator_tokens").await, 1);
    let let_in = app.visitor().post("/api/v1/nothing-here").bearer_auth(made[0].expose());
    assert_eq!(status(let_in).await, 404);
    assert!(app.app().make_first_token().await.unwrap().is_none(), "nor is there another later");
    for other in [one, two] {
        other.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_first_token_is_made_only_where_nobody_could_come_in() {
    let configured = TestApp::start_with_tokens("").await;
    assert!(configured.app().make_first_token().await.unwrap().is_none());
    let app = TestApp::start().await;
    app.token("admin", Role::Read, Some(Duration::from_secs(3_600))).await;
    assert!(app.app().make_first_token().await.unwrap().is_none());
    app.advance(TimeDelta::hours(2)).await;
    assert!(app.app().make_first_token().await.unwrap().is_some());
    let roles = "select count(*) from oncehook.operator_tokens where role = 'operate' and expires_at is null";
    assert_eq!(app.count(roles).await, 1);
}

/// B131: the database, its backups, logs, metrics and answers are read by more people than may come in.
#[tokio::test]
async fn no_token_and_no_session_comes_out_anywhere() {
    let log = Log::capture();
    let app = TestApp::start_with_tokens("").await;
    let stored = app.token("anna", Role::Operate, None).await;
    let browser = app.visitor().sign_in(&stored).await;
    let other = app.visitor().sign_in(KEEPER).await;
    let wrong =
        ["canary-of-nobody-0123456789".to_owned(), format!("och_{}", "c0ffee".repeat(11) + "00")[..68].to_owned()];
    let mut outputs = Vec::new();
    for token in &wrong {
        for request in [
            app.visitor().get("/api/v1/me").bearer_auth(token),
            app.visitor().get("/receipts").bearer_auth(token),
            app.visitor().login(token, "/"),
            app.visitor().get("/api/v1/me").bearer_auth(format!("{token} {token}")),
        ] {
            let reply = reply(request).await;
            assert_eq!(reply.status, 401);
            outputs.push(format!("{:?} {}", reply.headers, reply.text));
        }
    }
    for token in [&stored, KEEPER] {
        assert_eq!(status(app.visitor().get("/api/v1/nothing-here").bearer_auth(token)).await, 404);
    }
    assert!(browser.is_signed_in().await && other.is_signed_in().await);
    outputs.push(app.metrics().await);
    outputs.push(log.text());
    assert!(outputs.last().unwrap().contains("TRACE"), "the log is at its loudest");
    let tables = "select table_name::text from information_schema.tables where table_schema = 'oncehook'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut app.database().await).await.unwrap();
    for table in tables {
        let query = sqlx::AssertSqlSafe(format!("select coalesce(json_agg(t)::text, '') from oncehook.{table} t"));
        outputs.push(sqlx::query_scalar::<_, String>(query).fetch_one(&mut app.database().await).await.unwrap());
    }
    assert!(outputs.iter().any(|output| output.contains("\"anna\"")), "the dump holds the token's row");
    let key = |cookie: &str| cookie.split_once('=').unwrap().1.to_owned();
    let mut canaries = vec![stored[4..].to_owned(), KEEPER.to_owned(), key(&browser.cookie), key(&other.cookie)];
    canaries.extend([browser.form_token(), wrong[0].clone(), wrong[1][4..].to_owned()]);
    for canary in canaries {
        for output in &outputs {
            assert!(!output.to_lowercase().contains(&canary.to_lowercase()), "{canary:?} in {output}");
        }
    }
}

#[tokio::test]
async fn a_request_that_shows_two_things_is_refused() {
    let app = TestApp::start_with_tokens("").await;
    for lines in [
        format!("authorization: Bearer {KEEPER}\r\nauthorization: Bearer {KEEPER}\r\n"),
        format!("authorization: Basic YTpi\r\nauthorization: Bearer {KEEPER}\r\n"),
        format!("authorization: Bearer {KEEPER}, Bearer {KEEPER}\r\n"),
        format!("authorization: Bearer wrong-token-0123456789\r\nauthorization: Bearer {KEEPER}\r\n"),
    ] {
        let mut wire = Connection::to(app.app().admin_address()).await;
        wire.send(format!("GET /api/v1/me HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n")).await;
        let reply = wire.answer_to("GET").await.unwrap();
        assert_eq!((reply.status, reply.problem().as_str()), (401, "ambiguous-token"), "{lines}");
    }
    let mut wire = Connection::to(app.app().admin_address()).await;
    wire.send(format!(
        "GET /api/v1/nothing-here HTTP/1.1\r\nhost: localhost\r\nauthorization: bearer  {KEEPER}\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.answer_to("GET").await.unwrap().status, 404, "one is enough");
}

/// A page of another host, whose name was pointed to this machine, asks from within the operator's own browser.
#[tokio::test]
async fn a_name_that_only_leads_here_is_refused() {
    let app = TestApp::start_with_tokens("public_url = \"https://hooks.example.com\"").await;
    let port = app.app().admin_address().port();
    for (host, expected) in [
        (format!("evil.example:{port}"), 421),
        (format!("localhost.evil.example:{port}"), 421),
        ("169.254.169.254".to_owned(), 421),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("hooks.example.com".to_owned(), 200),
        ("hooks.example.com:8443".to_owned(), 200),
    ] {
        for path in ["/metrics", "/login"] {
            let mut wire = Connection::to(app.app().admin_address()).await;
            wire.send(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n")).await;
            let reply = wire.answer_to("GET").await.unwrap();
            assert_eq!(reply.status, expected, "{host} {path}");
            assert!(expected == 200 || reply.text.contains("set admin.public_url"), "{}", reply.text);
        }
    }
    for lines in ["", "host: localhost\r\nhost: evil.example\r\n"] {
        let mut wire = Connection::to(app.app().admin_address()).await;
        wire.send(format!("GET /api/v1/me HTTP/1.1\r\n{lines}authorization: Bearer {KEEPER}\r\n\r\n")).await;
        assert_eq!(wire.answer_to("GET").await.unwrap().status, 400, "{lines:?}");
    }
}

#[tokio::test]
async fn the_public_port_knows_nothing_of_operators() {
    let app = TestApp::start_with_tokens("").await;
    let public = crate::support::visitor::Visitor::to(&format!("http://{}", app.app().intake_address().unwrap()));
    for path in ["/", "/login", "/logout", "/livez", "/metrics", "/static/oncehook.css", "/api/v1/me", "/receipts"] {
        for request in [public.get(path), public.get(path).bearer_auth(KEEPER), public.login(KEEPER, "/")] {
            let reply = reply(request).await;
            assert_eq!(reply.status, 404, "{path}");
            assert!(!reply.headers.contains_key("set-cookie"), "{path}");
        }
    }
}

#[tokio::test]
async fn who_comes_in_cannot_be_told_without_the_database_and_is_not_guessed() {
    let app = TestApp::start_from(&TestApp::config_with("[admin]", crate::support::visitor::TOKENS)).await;
    let stored = app.token("anna", Role::Operate, None).await;
    let browser = app.visitor().sign_in(&stored).await;
    app.let_database_refuse(true).await;
    assert_eq!(status(app.visitor().get("/api/v1/nothing-here").bearer_auth(&stored)).await, 503);
    assert_eq!(status(browser.get("/api/v1/nothing-here")).await, 503);
    assert_eq!(status(app.visitor().login(&stored, "/")).await, 503);
    // What the configuration says needs no database.
    assert_eq!(status(app.visitor().get("/api/v1/nothing-here").bearer_auth(KEEPER)).await, 404);
    app.let_database_refuse(false).await;
    assert!(browser.is_signed_in().await);
}
