//! Query strings, strictly: an unknown name, a repeated one or a bad value is refused with what to write instead. A filter
//! that is silently not applied would show an operator the wrong list.

use std::{
    borrow::Cow,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded::{self, Serializer};
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use super::problem::Problem;
use crate::config::nearest;

/// The longest query string: filters are short, and all of it is held against the database.
const QUERY_BYTES_MAX: usize = 8 * 1024;

/// The query string as a `T`.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned + IntoParams> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(read(request.query_string()).map(Self))
    }
}

/// No parameters at all.
#[derive(serde::Deserialize)]
pub(super) struct Nothing {}

impl IntoParams for Nothing {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        Vec::new()
    }
}

/// One parameter that is known.
struct Known {
    name: String,
    /// Its JSON schema, as it is documented.
    schema: Value,
}

fn read<T: DeserializeOwned + IntoParams>(query: &str) -> Result<T, Problem> {
    if query.len() > QUERY_BYTES_MAX {
        return Err(Problem::invalid(format!("the query string is longer than {QUERY_BYTES_MAX} bytes: ask for less")));
    }
    let known = known::<T>();
    let mut seen: Vec<Cow<'_, str>> = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
            return Err(unknown(&name, &known));
        };
        if seen.contains(&name) {
            return Err(Problem::invalid(format!("{name}: is there twice: write it once")));
        }
        check::<T>(parameter, &value)?;
        seen.push(name);
    }
    // Each value is good for itself by now.
    web::Query::<T>::from_query(query)
        .map(web::Query::into_inner)
        .map_err(|error| Problem::invalid(format!("the query string is not understood: {error}")))
}

fn known<T: IntoParams>() -> Vec<Known> {
    let described = T::into_params(|| Some(ParameterIn::Query)).into_iter();
    described
        .map(|parameter| Known {
            schema: serde_json::to_value(&parameter.schema).unwrap_or_default(),
            name: parameter.name,
        })
        .collect()
}

fn unknown(name: &str, known: &[Known]) -> Problem {
    let shown: String = name.chars().take(64).collect();
    let names = || known.iter().map(|parameter| parameter.name.as_str());
    let instead = match (nearest(&shown, names()), known.is_empty()) {
        (Some(near), _) => format!("did you mean {near}?"),
        (None, true) => "there are none here".to_owned(),
        (None, false) => format!("the parameters are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Problem::invalid(format!("{shown}: there is no such parameter: {instead}"))
}

fn check<T: DeserializeOwned>(parameter: &Known, value: &str) -> Result<(), Problem> {
    let refuse = |instead: String| {
        let shown: String = value.chars().take(64).collect();
        Err(Problem::invalid(format!("{}: {shown:?} is not understood: {instead}", parameter.name)))
    };
    // PostgreSQL has no text with it.
    if value.contains('\0') {
        return refuse("leave out the NUL".to_owned());
    }
    if parameter.schema["format"] == "date-time" && !has_plain_year(value) {
        return refuse(instead_of(&parameter.schema, ""));
    }
    let alone = Serializer::new(String::new()).append_pair(&parameter.name, value).finish();
    match web::Query::<T>::from_query(&alone) {
        Ok(_) => Ok(()),
        Err(error) => refuse(instead_of(&parameter.schema, &error.to_string())),
    }
}

/// A year of four digits: of others, PostgreSQL has not all.
fn has_plain_year(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// What to write where `error` was said.
fn instead_of(schema: &Value, error: &str) -> String {
    if schema["format"] == "date-time" {
        return "write a time such as 2026-07-01T08:00:00Z (and %2B for a plus)".to_owned();
    }
    if schema["type"] == "boolean" {
        return "write true or false".to_owned();
    }
    if schema["type"] == "integer" {
        return "write a whole number".to_owned();
    }
    // `unknown variant`, with all that are known.
    match error.split_once("expected ") {
        Some((_, expected)) => format!("write {}", expected.replace('`', "")),
        None => error.to_owned(),
    }
}
