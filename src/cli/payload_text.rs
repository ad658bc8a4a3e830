//! A payload as the API gives it: headers with secrets removed, and the body as text where it is some. And back to its bytes.

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::redaction::shown_headers;
use crate::{operate::PayloadText, store::receipt_story::Payload};

/// The payload for people.
#[must_use]
pub fn payload_text(payload: &Payload) -> PayloadText {
    let text = std::str::from_utf8(&payload.body).ok().map(str::to_owned);
    let base64 = text.is_none().then(|| BASE64_STANDARD.encode(&payload.body));
    PayloadText { headers: shown_headers(&payload.headers), text, base64, bytes: payload.body.len() }
}

/// The bytes of its body, exactly as they came.
///
/// # Errors
/// When its base64 is none, which only another program's answer can have.
pub fn body_of(payload: &PayloadText) -> anyhow::Result<Vec<u8>> {
    match (&payload.text, &payload.base64) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(base64)) => BASE64_STANDARD.decode(base64).context("the payload is no base64"),
        (None, None) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_body_comes_back_byte_for_byte_and_secrets_do_not() {
        for body in [&b"{\"a\":1e200000}\r\n"[..], b"\xff\x00", b"", "é".as_bytes()] {
            let payload = Payload { headers: [("cookie", "canary")].into_iter().collect(), body: body.to_vec() };
            let text = payload_text(&payload);
            assert_eq!(body_of(&text).unwrap(), body);
            assert_eq!(text.text.is_some(), std::str::from_utf8(body).is_ok());
            assert!(!serde_json::to_string(&text).unwrap().contains("canary"));
        }
    }
}
