//! The two pages of signing in: the form, and the detour of a link that came from elsewhere.

use actix_web::{HttpResponse, http::StatusCode};
use askama::Template;

/// The form.
#[derive(Debug, Template)]
#[template(path = "login.html")]
pub(super) struct LoginPage<'a> {
    /// Where to go then.
    pub(super) next: &'a str,
    /// Why the last attempt led here again.
    pub(super) complaint: Option<&'a str>,
}

/// Asks the browser to ask once more, from a page of ours.
#[derive(Debug, Template)]
#[template(path = "detour.html")]
pub(super) struct Detour<'a> {
    /// What was asked for.
    pub(super) path: &'a str,
}

impl LoginPage<'_> {
    pub(super) fn answer(&self, status: StatusCode) -> HttpResponse {
        page(self, status)
    }
}

impl Detour<'_> {
    pub(super) fn answer(&self) -> HttpResponse {
        page(self, StatusCode::OK)
    }
}

fn page(template: &impl Template, status: StatusCode) -> HttpResponse {
    match template.render() {
        Ok(html) => HttpResponse::build(status).content_type("text/html; charset=utf-8").body(html),
        Err(error) => {
            tracing::error!(%error, "a page cannot be written");
            HttpResponse::InternalServerError().finish()
        }
    }
}
