//! Each row of the table of answers (DESIGN.md 3.4), over HTTP. Size, time and memory are in `limits`.

use chrono::TimeDelta;
use serde_json::json;

use crate::support::{app::TestApp, connection::Connection, sender::Letter};

#[tokio::test]
async fn a_stored_event_is_answered_with_its_receipt() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let reply = letter.send().await.presentable();
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.text_of("status"), "accepted");
    assert_eq!(reply.text_of("event_type"), "push");
    assert_eq!(reply.json()["deliveries"], json!(1));
    let stored: String =
        app.of_receipt("select delivery_id from oncehook.receipts where id = $1", &reply.receipt()).await;
    assert_eq!(stored, reply.text_of("delivery_id"));

    app.run_until_idle().await;
    assert_eq!(app.states().await, [("succeeded".to_owned(), 1)]);
}

#[tokio::test]
async fn an_event_that_was_seen_before_is_answered_with_the_first_receipt_and_what_became_of_it() {
    let app = TestApp::start().await;
    let letter = app.sender().push("main");
    let first = letter.send().await;
    let waiting = letter.send().await.presentable();
    assert_eq!((waiting.status, waiting.text_of("status").as_str()), (200, "duplicate"));
    assert_eq!(waiting.receipt(), first.receipt());
    assert_eq!(waiting.json()["deliveries"], json!([{ "route": "github-demo", "state": "queued" }]));

    app.run_until_idle().await;
    let done = letter.send().await.presentable();
    assert_eq!(done.json()["deliveries"], json!([{ "route": "github-demo", "state": "succeeded" }]));
    assert_eq!(done.text_of("first_received_at"), waiting.text_of("first_received_at"));
    assert_eq!(app.run_until_idle().await, 0, "a duplicate makes no work");
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 1);
}

#[tokio::test]
async fn another_payload_under_the_same_id_is_a_409_except_for_stripe_which_would_retry_for_days() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let stripe = |amount: u32| {
        let body = json!({ "id": "evt_1", "object": "event", "type": "charge.succeeded", "amount": amount });
        sender.stripe(&body)
    };
    let standard = sender.standard(r#"{"type":"a.b","n":1}"#);
    let cases: [(Letter, Letter, u16); 3] = [
        (sender.push("main").id("same"), sender.push("other").id("same"), 409),
        (stripe(1), stripe(2), 200),
        (standard.clone(), standard.body(r#"{"type":"a.b","n":2}"#), 409),
    ];
    for (first, other, status) in cases {
        let first = first.send().await;
        let reply = other.send().await.presentable();
        assert_eq!((reply.status, reply.text_of("status").as_str()), (status, "conflict"), "{}", reply.text);
        assert_eq!(reply.receipt(), first.receipt());
        assert!(reply.text_of("detail").contains("both are kept"), "{}", reply.text);
    }
    assert_eq!(app.count("select count(*) from oncehook.conflicts").await, 3, "nothing is lost");
    assert_eq!(app.run_until_idle().await, 3, "only the first of each runs");
}

#[tokio::test]
async fn a_request_that_cannot_be_believed_is_a_401_that_says_why() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let late = TimeDelta::seconds(310);
    let stripe = sender.stripe(&json!({ "id": "evt_1", "object": "event", "type": "a.b" }));
    let cases = [
        (sender.push("main").unsigned(), "missing-signature"),
        (sender.push("main").signed_with("some-other-secret-0123456789"), "signature-mismatch"),
        (sender.push("main").signed_over("{}"), "signature-mismatch"),
        (sender.push("main").unsigned().header("x-hub-signature-256", "sha256=zz"), "malformed-header"),
        (stripe.clone().unsigned(), "missing-signature"),
        (stripe.clone().signed_later(-late), "stale-timestamp"),
        (stripe.signed_later(late), "future-timestamp"),
        (sender.standard("{}").signed_later(-late), "stale-timestamp"),
        (sender.standard("{}").signed_later(late), "future-timestamp"),
    ];
    for (letter, problem) in cases {
        let reply = letter.send().await.presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (401, problem), "{}", reply.text);
    }
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 0);
}

#[tokio::test]
async fn a_request_without_a_usable_id_or_form_is_a_400() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let push = || sender.push("main");
    let form = "application/x-www-form-urlencoded";
    for letter in [
        push().id(""),
        push().id("two words"),
        push().id(&"x".repeat(256)),
        push().header("x-github-delivery", "é"),
        push().header("x-github-delivery", "one").also("x-github-delivery", "two"),
        push().body("pay=%7B%7D").header("content-type", form),
    ] {
        let reply = letter.send().await.presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (400, "malformed"), "{}", reply.text);
    }
    assert_eq!(app.counted("github", "malformed").await, 6);
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 0);
}

/// B108: Stripe does not follow redirects, others follow them without the body.
#[tokio::test]
async fn a_path_is_a_source_or_a_404_and_never_a_redirect() {
    let app = TestApp::start().await;
    let push = || app.sender().push("main");
    let stray = ["nobody", "github/", "GitHub", "github/x", "%22%5C%22%5C".repeat(30).as_str(), ""].map(str::to_owned);
    for source in stray {
        let reply = push().source(&source).send().await.presentable();
        assert_eq!(reply.status, 404, "{source}: {}", reply.text);
        assert!(reply.text_of("detail").contains("/hooks/"), "it says where webhooks go: {}", reply.text);
    }
    let mut wire = Connection::to(app.sender().address()).await;
    wire.send("POST //hooks/github HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(wire.answer().await.unwrap().presentable().status, 404);
    for source in ["github", "github?x=1", "%67ithub"] {
        assert_eq!(push().source(source).send().await.status, 200, "{source}");
    }
    app.run_until_idle().await;
}

/// B109
#[tokio::test]
async fn other_methods_are_told_that_this_is_a_source_for_posts() {
    let app = TestApp::start().await;
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "PROPFIND"] {
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(format!("{method} /hooks/github HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        let reply = wire.answer_to(method).await.unwrap();
        assert_eq!(reply.status, 405, "{method}");
        assert_eq!(reply.headers["allow"], "POST", "{method}");
        if method == "HEAD" {
            assert!(wire.ends().await, "an answer to HEAD has no body");
        } else {
            assert!(reply.presentable().text_of("detail").contains("POST"));
        }
    }
}

/// B044: the answer to what was not stored is an error, and the next try is a first one.
#[tokio::test]
async fn an_event_that_the_database_refuses_is_a_503_and_leaves_nothing() {
    let app = TestApp::start().await;
    let before = app.rows().await;
    let refuse = "create function oncehook_test.refuse() returns trigger language plpgsql
                      as 'begin raise exception ''no room''; end';
                  create trigger refuse before insert on apalis.jobs for each row execute function oncehook_test.refuse()";
    sqlx::raw_sql(refuse).execute(&mut app.database().await).await.unwrap();
    let letter = app.sender().push("main");
    let reply = letter.send().await.presentable();
    assert_eq!((reply.status, reply.problem().as_str()), (503, "refused-by-database"), "{}", reply.text);
    assert!(reply.headers["retry-after"].to_str().unwrap().parse::<u32>().unwrap() > 0);
    assert_eq!(app.rows().await, before, "neither a receipt nor a part of one");
    assert_eq!(app.counted("github", "not_recorded").await, 1);

    sqlx::raw_sql("drop trigger refuse on apalis.jobs").execute(&mut app.database().await).await.unwrap();
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    app.run_until_idle().await;
}

#[tokio::test]
async fn an_event_whose_recording_hangs_is_a_503_and_the_next_try_is_safe() {
    let app = TestApp::start_from(&TestApp::config_with("[intake]", "record_timeout = \"100ms\"")).await;
    let mut holder = app.database().await;
    sqlx::raw_sql("begin; lock table oncehook.receipts in access exclusive mode").execute(&mut holder).await.unwrap();
    let letter = app.sender().push("main");
    let reply = letter.send().await.presentable();
    assert_eq!((reply.status, reply.problem().as_str()), (503, "outcome-unknown"), "{}", reply.text);
    assert!(reply.headers.contains_key("retry-after"));
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    loop {
        let reply = letter.send().await;
        if reply.status == 200 {
            assert_eq!(reply.text_of("status"), "duplicate", "what was given up as unknown was recorded after all");
            break;
        }
    }
    app.run_until_idle().await;
    assert_eq!(app.count("select count(*) from oncehook.receipts").await, 1);
}

#[tokio::test]
async fn without_a_database_the_answer_is_503_and_the_next_try_is_a_first_one() {
    let app = TestApp::start_from(&TestApp::config_with("[database]", "acquire_timeout = \"100ms\"")).await;
    let letter = app.sender().push("main");
    app.let_database_refuse(true).await;
    let reply = letter.send().await.presentable();
    app.let_database_refuse(false).await;
    assert_eq!(reply.status, 503, "{}", reply.text);
    assert!(reply.headers.contains_key("retry-after"));
    assert_eq!(letter.send().await.text_of("status"), "accepted");
    app.run_until_idle().await;
}

/// B145: names of the longest kind, many deliveries, a delivery id of 255 bytes.
#[tokio::test]
async fn no_answer_is_longer_than_a_provider_shows() {
    let routes: String = (0..9)
        .map(|number| {
            let name = format!("{number}{}", "n".repeat(63));
            format!("[[routes]]\nname = {name:?}\nsource = \"github\"\nevents = [\"*\"]\ndestination = \"demo\"\n")
        })
        .collect();
    let app = TestApp::start_with(&routes).await;
    let letter = app.sender().push("main").id(&"d".repeat(255)).header("x-github-event", "e".repeat(300));
    let first = letter.send().await.presentable();
    assert_eq!(first.status, 200);
    assert!(first.text_of("delivery_id").ends_with('…'), "it says that it is cut: {}", first.text);
    let again = letter.send().await.presentable();
    let listed = again.json()["deliveries"].as_array().unwrap().len();
    assert!(listed > 0, "{}", again.text);
    assert_eq!(listed as u64 + again.json()["more_deliveries"].as_u64().unwrap(), 10);
    app.run_until_idle().await;
}
