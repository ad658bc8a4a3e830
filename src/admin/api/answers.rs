//! The problems that an operation can be answered, as its documentation lists them: by what kind of operation it is.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, ToSchema as _,
    openapi::{
        ContentBuilder, Header, Ref, RefOr, Response, ResponseBuilder,
        schema::{ObjectBuilder, Type},
    },
};

use super::problem::Problem;

type Responses = BTreeMap<String, RefOr<Response>>;

/// Of everything that is looked at.
pub(super) struct Looking;

/// Of what is looked at by its id or name.
pub(super) struct Finding;

/// Of what is changed.
pub(super) struct Ordering;

impl IntoResponses for Looking {
    fn responses() -> Responses {
        problems(&[
            ("400", "The question is wrong: the detail names the parameter and what to write"),
            ("401", "No token, or none that is known"),
            ("429", "Too many wrong tokens"),
            ("500", "A defect: the log says more"),
            ("503", "The database is away"),
        ])
    }
}

impl IntoResponses for Finding {
    fn responses() -> Responses {
        let mut responses = Looking::responses();
        responses.extend(problems(&[("404", "There is no such thing")]));
        responses
    }
}

impl IntoResponses for Ordering {
    fn responses() -> Responses {
        let mut responses = Finding::responses();
        responses.extend(problems(&[
            ("403", "The role is read, and this needs operate"),
            ("409", "It stands where this cannot be done, or the first request with this key is still at work"),
            ("413", "The body is larger than 64 KiB"),
            ("415", "The body is not application/json"),
            ("422", "The Idempotency-Key came before with another request"),
        ]));
        responses
    }
}

/// Of what has been deleted, or is too large to be shown.
pub(super) struct Reading;

impl IntoResponses for Reading {
    fn responses() -> Responses {
        let mut responses = Finding::responses();
        responses
            .extend(problems(&[("409", "Retention has deleted the payload, or it is too large to be shown as text")]));
        responses
    }
}

fn problems(of: &[(&str, &str)]) -> Responses {
    let one = |(status, words): &(&str, &str)| ((*status).to_owned(), problem(status, words).into());
    of.iter().map(one).collect()
}

fn problem(status: &str, words: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name()))).build();
    let response = ResponseBuilder::new().description(words).content("application/problem+json", content);
    let response = match status {
        "503" | "429" => {
            let seconds = ObjectBuilder::new().schema_type(Type::Integer).build();
            let mut header = Header::new(seconds);
            header.description = Some("Seconds after which another try makes sense".to_owned());
            response.header("Retry-After", header)
        }
        _ => response,
    };
    response.build()
}
