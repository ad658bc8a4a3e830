//! Reads the `csrf` field of a form before its handler does, and puts the form back for it.

use std::time::Duration;

use actix_web::{
    HttpMessage as _,
    dev::{Payload, ServiceRequest},
    web::BytesMut,
};
use futures_util::StreamExt as _;

use super::refusal::Refusal;

/// The largest form: a thousand ids that were ticked in a list, and a reason, many times over.
pub const FORM_BYTES_MAX: usize = 1 << 20;

/// How long a form may take to come.
const TIMEOUT: Duration = Duration::from_secs(10);

const URLENCODED: &str = "application/x-www-form-urlencoded";

/// The field, if there is exactly one. Other bodies than forms have none, and are not read.
pub(super) async fn csrf_field(request: &mut ServiceRequest) -> Result<Option<String>, Refusal> {
    if !request.content_type().eq_ignore_ascii_case(URLENCODED) {
        return Ok(None);
    }
    let mut payload = request.take_payload();
    let body = tokio::time::timeout(TIMEOUT, read(&mut payload)).await.map_err(|_| Refusal::Form)??;
    let mut fields = url::form_urlencoded::parse(&body).filter(|(name, _)| name == "csrf").map(|(_, value)| value);
    let field = fields.next().map(std::borrow::Cow::into_owned);
    let field = field.filter(|_| fields.next().is_none());
    drop(fields);
    request.set_payload(Payload::from(body.freeze()));
    Ok(field)
}

async fn read(payload: &mut Payload) -> Result<BytesMut, Refusal> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Refusal::Form)?;
        if body.len() + chunk.len() > FORM_BYTES_MAX {
            return Err(Refusal::Form);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use actix_web::{test::TestRequest, web};

    use super::*;

    #[tokio::test]
    async fn the_form_is_still_there_for_its_handler() {
        let request = TestRequest::post().insert_header(("content-type", format!("{URLENCODED}; charset=utf-8")));
        let mut request = request.set_payload("id=1&csrf=a%2Bb&id=2").to_srv_request();
        assert_eq!(csrf_field(&mut request).await.unwrap().as_deref(), Some("a+b"));
        let fields = request.extract::<web::Form<Vec<(String, String)>>>().await.unwrap();
        assert_eq!(fields.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["1", "a+b", "2"]);
    }

    #[tokio::test]
    async fn what_is_no_form_or_says_it_twice_has_no_token() {
        for (content_type, body) in [
            ("application/json", "{\"csrf\":\"a\"}"),
            ("text/plain", "csrf=a"),
            ("multipart/form-data; boundary=x", "csrf=a"),
            (URLENCODED, "csrf=a&csrf=a"),
            (URLENCODED, "CSRF=a"),
            (URLENCODED, ""),
        ] {
            let request = TestRequest::post().insert_header(("content-type", content_type));
            let mut request = request.set_payload(body).to_srv_request();
            assert_eq!(csrf_field(&mut request).await.unwrap(), None, "{content_type} {body}");
        }
    }
}
