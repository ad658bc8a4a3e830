//! What every answer of the operator's port tells browsers: run nothing but our own files, show it in no frame, keep no copy.

use actix_web::{
    Error,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
    middleware::Next,
};

/// Nothing inline and nothing from elsewhere: what a sender writes into a payload stays text, whatever a page does with it.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                       form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const ALWAYS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, CONTENT),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // Not "no-referrer": with that browsers send `Origin: null` with our own forms (Fetch, "append a request Origin header"), and
    // no form could be told from another page's. To other hosts this one tells as little.
    (REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the headers to each answer, the guard's among them: wrap it around the guard.
///
/// # Errors
/// Those of the services behind.
pub async fn headers<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // Files of ours hold nothing private, and their handler knows how long they are good.
    let is_file = request.path().starts_with("/static/");
    let mut answer = next.call(request).await?.map_into_boxed_body();
    add(answer.headers_mut(), is_file);
    Ok(answer)
}

fn add(headers: &mut HeaderMap, is_file: bool) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !(is_file && headers.contains_key(CACHE_CONTROL)) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
