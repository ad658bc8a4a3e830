//! What is signed is what came over the wire: no decoding, no trimming, no look into the content.

use super::{Request, V5, V5_HEX};

/// Signed with the key of the vectors by Python's `hmac`, from the body in UTF-8.
const UNICODE_BODY: &str = "{\"message\":\"🚀 e\u{301} \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{2028}end\"}";
const UNICODE_HEX: &str = "091af85dd752c75186e01d1605b0407a2def42a2ecdb92520c1242d4f2c28e37";

/// Body V5, compressed by Python's `gzip`, and the signature over these bytes.
const GZIP_BODY: &str = "1f8b0800000000000203abe65250504a54b25230e2aae50200e0930ad00d000000";
const GZIP_HEX: &str = "efc12cf5bb5e0a3d24853e15571fddc790a802e38a141a5b30ea349c43f9778b";

/// B008
#[test]
fn emoji_and_other_scripts_verify_as_bytes() {
    let value = format!("sha256={UNICODE_HEX}");
    let request = Request::github().body(UNICODE_BODY.as_bytes()).with("X-Hub-Signature-256", value);
    assert_eq!(request.outcome(), "accepted");
    let escaped = UNICODE_BODY.replace('🚀', "\\ud83d\\ude80");
    assert_eq!(request.body(escaped.as_bytes()).outcome(), "signature_mismatch");
}

/// B010, B011
#[test]
fn nothing_is_trimmed_and_no_line_end_is_changed() {
    let request = Request::github().with("X-Hub-Signature-256", format!("sha256={V5_HEX}"));
    assert_eq!(request.outcome(), "accepted");
    let with_crlf = String::from_utf8_lossy(V5).replace('\n', "\r\n");
    let without_line_ends: Vec<u8> = V5.iter().copied().filter(|byte| *byte != b'\n').collect();
    for body in [
        &V5[..V5.len() - 1],
        V5.trim_ascii(),
        &[V5, b" "].concat(),
        &[b"\n", V5].concat(),
        &[V5, b"\0"].concat(),
        &[b"\xef\xbb\xbf", V5].concat(),
        with_crlf.as_bytes(),
        without_line_ends.as_slice(),
        b"",
    ] {
        assert_eq!(request.clone().body(body).outcome(), "signature_mismatch", "{:?}", String::from_utf8_lossy(body));
    }
}

/// B028: the content type says nothing about the bytes.
#[test]
fn the_content_type_does_not_matter() {
    let types = ["text/plain", "application/vnd.github+json", "application/json; charset=utf-8", "multipart/form-data"];
    for content_type in types.into_iter().chain(["a/b/c;;", "", "application/x-www-form-urlencoded"]) {
        let request = Request::github()
            .with("Content-Type", content_type)
            .with("X-Hub-Signature-256", format!("sha256={V5_HEX}"));
        assert_eq!(request.outcome(), "accepted", "{content_type}");
    }
}

/// providers.md A1: form-encoded deliveries are signed as they are sent, not as the JSON within.
#[test]
fn a_form_encoded_body_is_signed_as_sent() {
    let form = b"payload=%7B%22zen%22%3A%22Keep+it+logically+awesome.%22%7D";
    let json = br#"{"zen":"Keep it logically awesome."}"#;
    assert_eq!(Request::github().body(form).signed("").outcome(), "accepted");
    assert_eq!(Request::github().body(json).signed("").body(form).outcome(), "signature_mismatch");
}

/// B033: a signature over the compressed bytes is right, one over the inflated bytes is not.
#[test]
fn compressed_bodies_are_checked_as_they_came() {
    let compressed = hex::decode(GZIP_BODY).unwrap();
    let request = Request::github().with("Content-Encoding", "gzip").body(&compressed);
    let over_wire_bytes = request.clone().with("X-Hub-Signature-256", format!("sha256={GZIP_HEX}"));
    assert_eq!(over_wire_bytes.outcome(), "accepted");
    let over_inflated_bytes = request.with("X-Hub-Signature-256", format!("sha256={V5_HEX}"));
    assert_eq!(over_inflated_bytes.outcome(), "signature_mismatch");
}

/// B029
#[test]
fn an_empty_body_can_be_signed_and_must_be() {
    let request = Request::github().body(b"").signed("");
    assert_eq!(request.outcome(), "accepted");
    assert_eq!(request.verdict_in_chunks(&[]), request.verdict(), "no chunk at all");
    assert_eq!(request.verdict_in_chunks(&[b"", b""]), request.verdict(), "empty chunks");
    assert_eq!(Request::github().body(b"").outcome(), "missing_signature");
    assert_eq!(request.body(b"{}").outcome(), "signature_mismatch");
}

/// B035: right or wrong does not depend on whether the bytes are JSON.
#[test]
fn the_verdict_does_not_depend_on_the_content() {
    let nested = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
    for body in [&b"not json"[..], b"{\"a\":1e200000}", b"{\"a\":\"\\u0000\"}", b"\xff\xfe\0", &nested] {
        let signed = Request::github().body(body).signed("");
        assert_eq!(signed.outcome(), "accepted");
        let forged = Request::github().body(body).with("X-Hub-Signature-256", format!("sha256={V5_HEX}"));
        assert_eq!(forged.outcome(), "signature_mismatch");
    }
}
