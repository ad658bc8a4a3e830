//! Pages as HTTP answers, and the pages that say why there is none. The headers that keep foreign code out of them are added by
//! `auth::headers`, to whatever this port answers.

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use askama::Template;

use super::shell::{Here, Shell};
use crate::operate::OperateError;

/// A page that says what is wrong and what to do.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    shell: Shell,
    status: u16,
    heading: String,
    sentences: Vec<String>,
}

/// A page.
pub(super) fn page(template: &impl Template) -> HttpResponse {
    respond(StatusCode::OK, template)
}

/// On to another page, by GET.
pub(super) fn see(place: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, place)).finish()
}

pub(super) fn respond(status: StatusCode, template: &impl Template) -> HttpResponse {
    let Ok(html) = template.render() else {
        tracing::error!("a template could not be rendered");
        return HttpResponse::InternalServerError().finish();
    };
    HttpResponse::build(status).content_type("text/html; charset=utf-8").body(html)
}

/// A page that says why nothing was done, and what to do instead.
pub(super) fn failure(shell: Shell, error: &OperateError) -> HttpResponse {
    let (status, heading, sentences) = told(error);
    if status.is_server_error() {
        tracing::warn!(%error, "a page could not be made");
    }
    refuse(shell, status, heading, sentences)
}

/// An error page around which nobody is signed in, for the login and for whatever is refused before a page is made.
#[must_use]
pub fn refusal(status: StatusCode, heading: &str, sentences: &[&str]) -> HttpResponse {
    refuse(Shell::outside(), status, heading.to_owned(), sentences.iter().map(ToString::to_string).collect())
}

fn refuse(shell: Shell, status: StatusCode, heading: String, sentences: Vec<String>) -> HttpResponse {
    let shell = Shell { title: heading.clone(), here: Here::Nowhere, ..shell };
    respond(status, &ErrorPage { shell, status: status.as_u16(), heading, sentences })
}

fn told(error: &OperateError) -> (StatusCode, String, Vec<String>) {
    match error {
        OperateError::NotFound { what, name } => {
            (StatusCode::NOT_FOUND, format!("There is no {what} {name}"), vec![where_to_look(what).to_owned()])
        }
        OperateError::Refused { problem, instead } => {
            (StatusCode::CONFLICT, "That cannot be done now".to_owned(), vec![problem.clone(), instead.clone()])
        }
        OperateError::Invalid { field, problem, instead } => (
            StatusCode::BAD_REQUEST,
            "That question cannot be answered".to_owned(),
            vec![format!("{field}: {problem}"), instead.clone()],
        ),
        OperateError::Store(store) if store.is_database_away() => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The database cannot be reached".to_owned(),
            vec![
                "Nothing was changed, unless it was under way just now: look again when the database is back.".to_owned(),
                "Load this page again in a few seconds. If it lasts, run \"oncehook doctor\" on the machine: it says what is \
                 wrong with the database and what to do."
                    .to_owned(),
            ],
        ),
        OperateError::Store(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "This could not be read or written".to_owned(),
            vec![
                "The database refused a statement, or holds something that this version does not know.".to_owned(),
                "The log of this process says which: look for \"a page could not be made\".".to_owned(),
            ],
        ),
    }
}

fn where_to_look(what: &str) -> &'static str {
    match what {
        "receipt" | "delivery" => {
            "It may be older than what is kept (retention.receipts), or belong to another appliance. Search for the \
             provider's own id in the box above."
        }
        "conflict" => "Its receipt may be older than what is kept. The list of conflicts shows those that are there.",
        "source" | "route" | "destination" => {
            "The configuration does not have it: it may have been renamed, or this process has not been reloaded (SIGHUP)."
        }
        _ => "Follow one of the links of the navigation, or search in the box above.",
    }
}
