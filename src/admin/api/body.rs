//! Bodies of requests, strictly: JSON within 64 KiB, without members that are unknown. A misspelt filter would otherwise mean
//! "all of them".

use actix_web::{HttpRequest, http::StatusCode, http::header::CONTENT_TYPE, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::problem::Problem;
use crate::config::nearest;

/// The largest body: a bulk of 1,000 picked deliveries has 35 KB.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// How long a body may take: it is small, and there is one thread.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Reads the body, within its bound.
pub(super) async fn read(payload: web::Payload) -> Result<Bytes, Problem> {
    let late = Problem::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", "Body too slow", "the body came too slowly");
    tokio::time::timeout(PATIENCE, read_all(payload)).await.unwrap_or(Err(late))
}

async fn read_all(mut payload: web::Payload) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Problem::invalid("the body broke off, or is not framed as HTTP asks for"))?;
        if chunk.len() > BODY_BYTES_MAX - body.len() {
            let detail = format!("the body is larger than {BODY_BYTES_MAX} bytes: use a filter, or several requests");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "Body too large", detail));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// Reads a body as JSON. No body is `{}`.
pub(super) fn parse<T: DeserializeOwned + Serialize>(request: &HttpRequest, body: &[u8]) -> Result<T, Problem> {
    let is_empty = body.is_empty();
    if !is_empty && !is_json(request) {
        let detail = "the body must be JSON: send Content-Type: application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "not-json", "Not JSON", detail));
    }
    let text: &[u8] = if is_empty { b"{}" } else { body };
    let value: Value =
        serde_json::from_slice(text).map_err(|error| Problem::invalid(format!("the body is not JSON: {error}")))?;
    if !value.is_object() {
        return Err(Problem::invalid("the body must be a JSON object: {…}"));
    }
    if let Some(place) = find_nul(&value, "") {
        return Err(Problem::invalid(format!("{place}: has a NUL, which no name and no text here has: leave it out")));
    }
    let parsed: T =
        serde_json::from_value(value.clone()).map_err(|error| Problem::invalid(format!("the body: {error}")))?;
    let known = serde_json::to_value(&parsed).unwrap_or_default();
    check_members(&value, &known, "")?;
    Ok(parsed)
}

fn is_json(request: &HttpRequest) -> bool {
    let value = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Where a text has a NUL, which PostgreSQL has not.
fn find_nul(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(|| place.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| find_nul(item, place)),
        Value::Object(members) => members.iter().find_map(|(name, value)| find_nul(value, &below(place, name))),
        _ => None,
    }
}

/// Refuses what was sent and not understood: a member that the parsed request, written again, does not have. A null says
/// nothing, and is passed over.
fn check_members(sent: &Value, known: &Value, place: &str) -> Result<(), Problem> {
    let (Value::Object(sent), Value::Object(known)) = (sent, known) else { return Ok(()) };
    for (name, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
        let Some(understood) = known.get(name) else {
            let instead = match nearest(name, known.keys().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("the members are {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
            };
            let name: String = below(place, name).chars().take(64).collect();
            return Err(Problem::invalid(format!("{name}: there is no such member: {instead}")));
        };
        check_members(value, understood, &below(place, name))?;
    }
    Ok(())
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}
