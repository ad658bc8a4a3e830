//! The two pages of signing in: the form, and the detour of a link that came from elsewhere. How they look is the business of
//! `admin::pages`.

use actix_web::{HttpResponse, http::StatusCode};

use crate::admin::pages;

/// The form.
#[derive(Debug)]
pub(super) struct LoginPage<'a> {
    /// Where to go then.
    pub(super) next: &'a str,
    /// Why the last attempt led here again.
    pub(super) complaint: Option<&'a str>,
}

/// Asks the browser to ask once more, from a page of ours.
#[derive(Debug)]
pub(super) struct Detour<'a> {
    /// What was asked for.
    pub(super) path: &'a str,
}

impl LoginPage<'_> {
    pub(super) fn answer(&self, status: StatusCode) -> HttpResponse {
        pages::login_page(status, self.next, self.complaint)
    }
}

impl Detour<'_> {
    pub(super) fn answer(&self) -> HttpResponse {
        pages::detour_page(self.path)
    }
}
