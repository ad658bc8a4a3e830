//! How the pages of signing in look. Takes what there is to say, gives markup: who may come in is the business of
//! [`auth`](crate::admin::auth).

use actix_web::{HttpResponse, http::StatusCode};
use askama::Template;

use super::{answer, shell::Shell};

/// The form.
#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    shell: Shell,
    next: &'a str,
    complaint: Option<&'a str>,
}

/// Asks the browser to ask once more, from a page of ours.
#[derive(Template)]
#[template(path = "detour.html")]
struct Detour<'a> {
    path: &'a str,
}

/// The form. `next` is where to go afterwards: a path of ours, which the caller has checked; `complaint` is why the last attempt
/// led here again.
#[must_use]
pub fn login_page(status: StatusCode, next: &str, complaint: Option<&str>) -> HttpResponse {
    let shell = Shell { title: "Sign in".to_owned(), ..Shell::outside() };
    answer::respond(status, &LoginPage { shell, next, complaint })
}

/// A page that leads to `path` at once.
#[must_use]
pub fn detour_page(path: &str) -> HttpResponse {
    answer::page(&Detour { path })
}
