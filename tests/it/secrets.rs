//! No secret and no right digest comes out again: not in answers, metrics, logs at any level, or tables.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::support::{
    app::{GITHUB_SECRET, STANDARD_SECRET, STRIPE_SECRET, TestApp},
    log::Log,
    sender::Letter,
};

/// Every form in which the secrets of the tests could be written.
fn forms() -> Vec<String> {
    let decoded = BASE64_STANDARD.decode(STANDARD_SECRET.trim_start_matches("whsec_")).unwrap();
    [GITHUB_SECRET.as_bytes(), STRIPE_SECRET.as_bytes(), STANDARD_SECRET.as_bytes(), decoded.as_slice()]
        .into_iter()
        .flat_map(|secret| {
            [String::from_utf8(secret.to_vec()).unwrap(), hex::encode(secret), BASE64_STANDARD.encode(secret)]
        })
        .collect()
}

/// The signature that a letter carries.
fn signature(letter: &Letter) -> String {
    let lines = letter.lines();
    let (_, value) = lines.iter().find(|(name, _)| name.ends_with("-signature") || name.ends_with("-256")).unwrap();
    let value = String::from_utf8(value.clone()).unwrap();
    value.rsplit(['=', ',']).find(|part| part.len() > 40).unwrap_or(&value).to_owned()
}

/// B025, B132: the digest that would have been right is as good as the secret for this one body.
#[tokio::test]
async fn neither_the_right_digest_nor_a_secret_comes_out_anywhere() {
    let log = Log::capture();
    let app = TestApp::start().await;
    let sender = app.sender();
    let event = json!({ "id": "evt_1", "object": "event", "type": "a.b" });
    let mut canaries = forms();
    let mut outputs = Vec::new();
    for letter in [sender.push("main"), sender.stripe(&event), sender.standard("{}")] {
        canaries.push(signature(&letter));
        let wrong = signature(&letter.clone().signed_over("another body"));
        for lie in [letter.clone().signed_over("another body"), letter.clone().unsigned()] {
            let lie = lie.header("authorization", "Bearer canary-authorization").header("cookie", "canary-cookie");
            let reply = lie.send().await.presentable();
            assert_eq!(reply.status, 401);
            outputs.push(format!("{:?} {}", reply.headers, reply.text));
        }
        canaries.push(wrong);
    }
    canaries.extend(["canary-authorization".to_owned(), "canary-cookie".to_owned()]);
    outputs.push(app.metrics().await);
    let logged = log.text();
    assert!(logged.contains("a request was not believed"), "the log is the one of this appliance: {logged}");
    assert!(logged.contains("TRACE"), "and it is at its loudest");
    outputs.push(logged);
    for canary in canaries {
        for output in &outputs {
            assert!(!output.contains(&canary), "{canary:?} in {output}");
        }
    }
}

/// B131: GitHub itself sent the webhook's secret in a header; who keeps all headers kept the secret.
#[tokio::test]
async fn a_secret_in_a_request_is_taken_out_of_the_headers_before_they_are_stored_and_logged() {
    let log = Log::capture();
    let app = TestApp::start().await;
    let encoded = BASE64_STANDARD.encode(GITHUB_SECRET);
    let letter = app
        .sender()
        .push("main")
        .header("x-github-encoded-secret", &encoded)
        .header("x-plain", format!("secret={GITHUB_SECRET};"))
        .header("x-hex", hex::encode_upper(GITHUB_SECRET))
        .header("x-base64", &encoded)
        .header("authorization", "Bearer canary-authorization")
        .header("cookie", "session=canary-cookie")
        .header("x-harmless", "stays");
    let reply = letter.send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let stored = String::from_utf8(app.stored_headers(&reply.receipt()).await).unwrap();
    assert!(stored.contains("x-harmless: stays\r\n"), "{stored}");
    assert_eq!(stored.matches("[redacted by oncehook]").count(), 6, "{stored}");
    app.run_until_idle().await;
    let dump = dump(&app).await;
    assert!(dump.contains(&reply.text_of("delivery_id")), "the dump holds what is stored");
    let logged = log.text();
    for canary in forms().into_iter().chain(["canary-authorization".into(), "canary-cookie".into()]) {
        for output in [&stored, &logged, &dump, &reply.text] {
            assert!(!output.to_lowercase().contains(&canary.to_lowercase()), "{canary:?} in {output}");
        }
    }
}

/// All rows of all tables as text, bytes among it as text where they are some.
async fn dump(app: &TestApp) -> String {
    let query = "select string_agg(encode(headers, 'escape') || encode(body, 'escape'), '') from oncehook.payloads";
    let payloads: String = sqlx::query_scalar(query).fetch_one(&mut app.database().await).await.unwrap();
    let mut dump = payloads;
    for table in ["receipts", "deliveries", "attempts", "arrivals", "lanes"] {
        let query = sqlx::AssertSqlSafe(format!("select coalesce(json_agg(t)::text, '') from oncehook.{table} t"));
        dump += &sqlx::query_scalar::<_, String>(query).fetch_one(&mut app.database().await).await.unwrap();
    }
    dump
}

/// B133: values that no signature covers are data, and move no cursor.
#[tokio::test]
async fn what_a_sender_writes_into_headers_cannot_write_into_a_terminal() {
    let log = Log::capture();
    let app = TestApp::start().await;
    let events = [&b"push\xe2\x80\xa8next"[..], b"push\ttab", &[b'x'; 8_000], b"\xc2\x9b2J", b"%s%n{}"];
    for event in events {
        let letter = app.sender().push("main").header("x-github-event", event);
        let reply = letter.send().await.presentable();
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(reply.text_of("event_type").chars().all(|letter| letter.is_ascii_graphic() || letter == '…'));
        assert_eq!(letter.signed_over("x").send().await.status, 401);
    }
    // Control characters in a header are no HTTP, and come no further.
    let mut wire = crate::support::connection::Connection::to(app.sender().address()).await;
    wire.send(app.sender().push("main").wire_head("x-bad: push\x1b[2J\r\ncontent-length: 0")).await;
    assert_eq!(wire.answer().await.unwrap().status, 400);
    app.run_until_idle().await;
    let logged = log.text();
    for line in logged.lines() {
        assert!(!line.contains(|letter: char| letter.is_control() || letter == '\u{2028}'), "{line:?}");
    }
    let types = app.count("select count(*) from oncehook.receipts where event_type ~ '[^ -~]'").await;
    assert_eq!(types, 0);
}

/// B024: a provider that signs to a source that does not look is worth a remark on each receipt.
#[tokio::test]
async fn a_signed_request_to_an_unsigned_source_is_flagged() {
    let config = "[sources.open]\nprovider = \"github\"\nallow_unsigned = true\n[[routes]]\nname = \"open\"\n\
                  source = \"open\"\nevents = [\"*\"]\ndestination = \"demo\"\n";
    let app = TestApp::start_with(config).await;
    let open = || app.sender().push("main").source("open");
    for (letter, header) in [
        (open(), "x-hub-signature-256"),
        (open().unsigned().header("x-hub-signature", "sha1=00"), "x-hub-signature"),
        (open().unsigned().header("stripe-signature", "t=1"), "stripe-signature"),
    ] {
        let flags = app.flags(&letter.send().await.receipt()).await;
        let expected = format!("signed but not checked: the request has {header};");
        assert!(flags.iter().any(|flag| flag.starts_with(&expected)), "{flags:?}");
    }
    for letter in [open().unsigned(), open().unsigned().header("x-hub-signature-256", "")] {
        assert_eq!(app.flags(&letter.send().await.receipt()).await, Vec::<String>::new());
    }
    let checked = app.sender().push("main").send().await;
    assert_eq!(app.flags(&checked.receipt()).await, Vec::<String>::new(), "checked where it should be");
    app.run_until_idle().await;
}
