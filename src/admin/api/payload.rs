//! A payload in its three forms: as text for people, as the exact bytes, and as a fixture.

use actix_web::{HttpResponse, http::header};
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::problem::Problem;
use crate::{
    cli::redaction::shown_headers,
    operate::{OperateError, PayloadText},
    store::receipt_story::Payload,
};

/// The largest body that is shown as text: escaped as JSON it may become six times as large, and it is in memory twice.
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Header lines that whoever sends a fixture makes.
const MADE_WHEN_SENT: [&str; 4] = ["host", "content-length", "connection", "transfer-encoding"];

/// In which form a payload is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Headers as text, the body as text or base64; up to 8 MiB.
    Json,
    /// The body, byte for byte.
    Raw,
    /// A fixture: header lines without secrets, a blank line, the body byte for byte.
    Http,
}

/// In which form.
#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct PayloadQuery {
    /// By default json.
    pub(super) format: Option<Form>,
}

/// The payload for people.
pub(super) fn text_of(payload: &Payload) -> Result<PayloadText, Problem> {
    let bytes = payload.body.len();
    if bytes > TEXT_BYTES_MAX {
        return Err(Problem::from(OperateError::Refused {
            problem: format!("the payload has {bytes} bytes, too many to be shown as text"),
            instead: "add ?format=raw".to_owned(),
        }));
    }
    let text = std::str::from_utf8(&payload.body).ok().map(str::to_owned);
    let base64 = text.is_none().then(|| BASE64_STANDARD.encode(&payload.body));
    Ok(PayloadText { headers: shown_headers(&payload.headers), text, base64, bytes })
}

/// The answer with a payload; `name` is what a file of it is called, without its ending.
pub(super) fn respond(payload: &Payload, form: Form, name: &str) -> Result<HttpResponse, Problem> {
    match form {
        Form::Json => Ok(HttpResponse::Ok().json(text_of(payload)?)),
        Form::Raw => Ok(attached(format!("{name}.bin"), payload.body.clone())),
        Form::Http => Ok(attached(format!("{name}.http"), fixture(payload))),
    }
}

/// A download, and nothing that a browser would show: these bytes are a stranger's. `admin::auth::headers` adds nosniff.
fn attached(file: String, bytes: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header((header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")))
        .body(bytes)
}

fn fixture(payload: &Payload) -> Vec<u8> {
    let mut file = Vec::with_capacity(payload.body.len() + 1024);
    for ((name, value), (_, shown)) in payload.headers.iter().zip(shown_headers(&payload.headers)) {
        let is_secret = shown.starts_with("(not shown") && !value.starts_with(b"(not shown");
        if is_secret || MADE_WHEN_SENT.contains(&name) {
            continue;
        }
        file.extend_from_slice(&[name.as_bytes(), b": ", value, b"\n"].concat());
    }
    file.push(b'\n');
    file.extend_from_slice(&payload.body);
    file
}
