//! The login page. Takes what there is to say, gives markup: who may come in is the business of `admin::auth`.

use actix_web::{HttpResponse, http::StatusCode};
use askama::Template;

use super::{answer, shell::Shell};

/// What the login page says.
#[derive(Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    pub(super) shell: Shell,
    pub(super) csrf: String,
    pub(super) next: String,
    pub(super) problem: Option<String>,
}

/// The login page. `next` is where to go afterwards: a path of ours, which the caller has checked; `problem` is why the last
/// try failed and what to do.
#[must_use]
pub fn login_page(status: StatusCode, csrf: &str, next: &str, problem: Option<&str>) -> HttpResponse {
    let shell = Shell { title: "Log in".to_owned(), ..Shell::outside() };
    let page = LoginPage { shell, csrf: csrf.to_owned(), next: next.to_owned(), problem: problem.map(ToOwned::to_owned) };
    answer::respond(status, &page)
}
