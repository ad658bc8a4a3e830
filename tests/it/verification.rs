//! Who is believed, over HTTP: the bytes that came over the wire decide, and nothing else does.

use crate::support::{
    app::{GITHUB_SECRET, TestApp},
    connection::Connection,
    sender::Letter,
};
use oncehook::domain::Digest;

/// Body V5 of the pitfalls, and its signature with the secret of the tests, made elsewhere.
const V5: &[u8] = b"{\n  \"a\": 2\n}\n";
const V5_SIGNATURE: &str = "sha256=388029e3a86c471ec6c65f76181ce2425eb528c0f173a23ab308c8473b4b5ac2";
/// V5 with line ends of Windows.
const V6: &[u8] = b"{\r\n  \"a\": 2\r\n}\r\n";
const V6_SIGNATURE: &str = "sha256=463f9b59c6724fc2149f2fa18bb39c4e816868c626a443d73398876aadd026a0";
/// The signature of an empty body.
const V1_SIGNATURE: &str = "sha256=91bf623c221721508febd84f9b6c8c5d96e2ae88cd9f768d1b57a3b94a56c98d";
/// Signed with the secret and a line feed.
const V1B_SIGNATURE: &str = "sha256=5be4184ccf68cd3f7b92b195b7f08fa1346d3d889d16cf41d4d4ce2acce79a37";
/// HMAC-SHA1 of V5, made with `openssl dgst -sha1 -hmac`.
const V5_SHA1: &str = "sha1=ce7d116cf7cf7a60cb96b16e345f69a6610e8361";

/// A letter that carries this signature and no other.
fn signed_as(letter: Letter, signature: impl AsRef<[u8]>) -> Letter {
    letter.unsigned().header("x-hub-signature-256", signature)
}

/// B008, B010
#[tokio::test]
async fn a_body_is_verified_and_stored_byte_for_byte() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let emoji = "{\"message\":\"🚀 e\u{301} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{2028}end\"}".as_bytes();
    let cases = [
        signed_as(sender.github("push", V5), V5_SIGNATURE),
        signed_as(sender.github("push", V6), V6_SIGNATURE),
        sender.github("push", emoji),
        sender.github("push", b"\0\r\n\xff not JSON \x1b[2J".as_slice()),
    ];
    for (letter, body) in cases.iter().zip([V5, V6, emoji, b"\0\r\n\xff not JSON \x1b[2J"]) {
        let reply = letter.send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(app.stored_body(&reply.receipt()).await, body);
        let digest: Vec<u8> =
            app.of_receipt("select body_digest from oncehook.receipts where id = $1", &reply.receipt()).await;
        assert_eq!(digest, Digest::of(body).as_bytes());
    }
    app.run_until_idle().await;
}

/// B011, B002
#[tokio::test]
async fn nothing_is_trimmed_before_it_is_verified() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let trimmed = &V5[..V5.len() - 1];
    for body in [trimmed, &[V5, b" "].concat(), &[b"\n", V5].concat(), V6] {
        assert_eq!(signed_as(sender.github("push", body), V5_SIGNATURE).send().await.status, 401);
    }
    assert_eq!(signed_as(sender.github("push", V5), V1B_SIGNATURE).send().await.status, 401);
    for body in [[V5, b" \n"].concat(), [b"\n", V5].concat()] {
        assert_eq!(sender.github("push", body).send().await.status, 200, "signed as it is sent");
    }
    app.run_until_idle().await;
}

/// B014, B016: whatever stands in the header, the answer is a plain no.
#[tokio::test]
async fn no_signature_header_does_more_than_be_refused() {
    let app = TestApp::start().await;
    let hex = "a".repeat(63);
    let github = [
        &b""[..],
        b"sha256=",
        b"sha256",
        b"=",
        b"sha1=da39a3ee5e6b4b0d3255bfef95601890afd80709",
        &[hex.as_bytes(), "é".as_bytes()].concat(),
        &[b"sha256=", hex.as_bytes(), b"\xe9"].concat(),
        &[b"sha256=", hex.as_bytes(), "é".as_bytes()].concat(),
        &[b"sha256=", hex.as_bytes(), b"g"].concat(),
        &[b','; 8_192],
    ]
    .map(|value| signed_as(app.sender().push("main"), value));
    let now = app.clock().now().timestamp();
    let spelt = ["abc", "NaN", "Infinity", "0x10", "1e9", "-1", "+1700000000", "99999999999999999999", "１７"];
    let stripe = ["", "test", "t", "t=", "v1=", "t=,v1=", "t=abc,v1=zz", "=,=,=", "t=1,t=2,v1=00"]
        .map(str::to_owned)
        .into_iter()
        .chain(spelt.map(|t| format!("t={t},v1={}", "0".repeat(64))))
        .chain([format!("t= {now},v1={}", "0".repeat(64)), format!("t={now}abc,v1=00"), ",".repeat(8_192)])
        .map(|value| {
            let event = serde_json::json!({ "id": "evt_1", "object": "event", "type": "a.b" });
            app.sender().stripe(&event).unsigned().header("stripe-signature", value)
        });
    for letter in github.into_iter().chain(stripe) {
        let reply = letter.send().await.presentable();
        assert_eq!(reply.status, 401, "{:?} {}", String::from_utf8_lossy(&letter.wire_head("")), reply.text);
    }
}

/// B019: an old signature neither replaces the new one nor spoils it.
#[tokio::test]
async fn sha1_counts_for_nothing() {
    let app = TestApp::start().await;
    let v5 = || app.sender().github("push", V5);
    let with_sha1 = |letter: Letter, sha1: &str| letter.header("x-hub-signature", sha1);
    let wrong = format!("sha256={}", "0".repeat(64));
    let only_sha1 = with_sha1(v5().unsigned(), V5_SHA1).send().await.presentable();
    assert_eq!((only_sha1.status, only_sha1.problem().as_str()), (401, "sha1-only"));
    assert_eq!(with_sha1(signed_as(v5(), &wrong), V5_SHA1).send().await.status, 401);
    assert_eq!(with_sha1(signed_as(v5(), ""), V5_SHA1).send().await.status, 401);
    assert_eq!(with_sha1(signed_as(v5(), V5_SIGNATURE), "sha1=00").send().await.status, 200);
    app.run_until_idle().await;
}

/// B020, B112: no source can be talked out of looking, and nobody unknown leaves a trace in the database.
#[tokio::test]
async fn a_request_that_is_not_believed_leaves_no_row_anywhere() {
    let app = TestApp::start().await;
    let sender = app.sender();
    let before = app.rows().await;
    let event = serde_json::json!({ "id": "evt_1", "object": "event", "type": "a.b" });
    let letters = || [sender.push("main"), sender.stripe(&event), sender.standard("{}")];
    let mut refused = 0;
    for mut letter in letters() {
        let foreign: Vec<_> = letters().into_iter().filter(|other| other.path() != letter.path()).collect();
        let mut lies = vec![letter.clone().unsigned(), letter.clone().signed_over("lie")];
        for name in ["x-hub-signature-256", "stripe-signature", "webhook-signature", "svix-signature"] {
            lies.push(letter.clone().unsigned().header(name, ""));
        }
        // Signed rightly, for another source.
        lies.extend(foreign.into_iter().map(|other| other.source(letter.path())));
        letter = letter.unsigned();
        lies.push(letter.clone().source(&format!("{}?challenge=x", letter.path())));
        lies.push(letter.clone().header("x-github-event", "ping").header("authorization", "Bearer x"));
        for lie in lies {
            let reply = lie.send().await.presentable();
            assert_eq!(reply.status, 401, "{}", reply.text);
            refused += 1;
        }
    }
    assert_eq!(app.rows().await, before);
    let counted = app.counted("github", "unverified").await
        + app.counted("stripe", "unverified").await
        + app.counted("standard", "unverified").await;
    assert_eq!(counted, refused, "what is refused is counted, and that is all");
}

#[tokio::test]
async fn a_repeated_signature_header_is_refused_even_if_one_is_right() {
    let app = TestApp::start().await;
    for (one, two) in [(V5_SIGNATURE, V6_SIGNATURE), (V6_SIGNATURE, V5_SIGNATURE), (V5_SIGNATURE, V5_SIGNATURE)] {
        let letter = signed_as(app.sender().github("push", V5), one).also("x-hub-signature-256", two);
        let reply = letter.send().await.presentable();
        assert_eq!((reply.status, reply.problem().as_str()), (401, "repeated-header"), "{}", reply.text);
    }
}

/// B028
#[tokio::test]
async fn the_content_type_has_no_part_in_it() {
    let app = TestApp::start().await;
    let types = [
        "text/plain",
        "application/vnd.github+json",
        "application/json; charset=utf-16",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "a/b/c;;",
        "",
        "application/octet-stream",
    ];
    for content_type in types {
        let good = signed_as(app.sender().github("push", V5), V5_SIGNATURE).header("content-type", content_type);
        let reply = good.send().await;
        assert_eq!(reply.status, 200, "{content_type:?} {}", reply.text);
        assert_eq!(app.stored_body(&reply.receipt()).await, V5);
        assert_eq!(good.body(V6).send().await.status, 401, "{content_type:?}");
    }
    app.run_until_idle().await;
}

/// B029
#[tokio::test]
async fn an_empty_body_is_a_body_however_it_is_framed() {
    let app = TestApp::start().await;
    let empty = || app.sender().github("push", "");
    for signed in [signed_as(empty(), V1_SIGNATURE), empty()] {
        for wire_form in [signed.wire(), signed.clone().id("chunked").wire_in_chunks(1)] {
            let mut wire = Connection::to(app.sender().address()).await;
            wire.send(wire_form).await;
            let reply = wire.answer().await.unwrap().presentable();
            assert_eq!(reply.status, 200, "{}", reply.text);
            let flags = app.flags(&reply.receipt()).await;
            assert!(flags.iter().any(|flag| flag.starts_with("unparseable")), "{flags:?}");
        }
    }
    assert_eq!(signed_as(empty(), V5_SIGNATURE).send().await.status, 401);
    app.run_until_idle().await;
}

/// B031
#[tokio::test]
async fn header_names_may_be_spelt_in_any_case() {
    let app = TestApp::start().await;
    for spell in [str::to_ascii_uppercase, str::to_ascii_lowercase, |name: &str| name.replacen("x-", "X-", 1)] {
        let letter = app.sender().push("main");
        let head: String = String::from_utf8(letter.wire())
            .unwrap()
            .lines()
            .map(|line| match line.split_once(": ") {
                Some((name, value)) => format!("{}: {value}\r\n", spell(name)),
                None => format!("{line}\r\n"),
            })
            .collect();
        let mut wire = Connection::to(app.sender().address()).await;
        wire.send(head).await;
        assert_eq!(wire.answer().await.unwrap().status, 200);
    }
    app.run_until_idle().await;
}

/// B033: the bytes on the wire are what is signed, and what is kept.
#[tokio::test]
async fn a_compressed_body_is_verified_and_stored_as_it_came() {
    /// V5 compressed by Python's `gzip`.
    const GZIP: &str = "1f8b0800000000000203abe65250504a54b25230e2aae50200e0930ad00d000000";
    let app = TestApp::start().await;
    let gzip = hex::decode(GZIP).unwrap();
    let letter = app.sender().github("push", gzip.clone()).header("content-encoding", "gzip");
    let reply = letter.send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(app.stored_body(&reply.receipt()).await, gzip);
    let headers = String::from_utf8(app.stored_headers(&reply.receipt()).await).unwrap();
    assert!(headers.contains("content-encoding: gzip\r\n"), "{headers}");
    assert_eq!(letter.signed_over(V5).send().await.status, 401, "signed as it was before");
    app.run_until_idle().await;
}

/// Two secrets are good at once while one replaces the other; the receipt tells which one is in use.
#[tokio::test]
async fn a_receipt_names_the_secret_that_matched() {
    let app = TestApp::start().await;
    let reply = app.sender().push("main").send().await;
    let stored: String =
        app.of_receipt("select secret_fingerprint from oncehook.receipts where id = $1", &reply.receipt()).await;
    let secret = oncehook::domain::Secret::new(GITHUB_SECRET.as_bytes().to_vec());
    assert_eq!(stored, secret.fingerprint().as_str());
    app.run_until_idle().await;
}
