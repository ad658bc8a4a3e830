//! The one variable part of a path, read into its type: an id of another shape is refused with the shape that is expected.

use std::{
    fmt,
    future::{Ready, ready},
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use uuid::Uuid;

use super::problem::Problem;

/// The variable part of the path as a `T`.
pub(super) struct In<T>(pub(super) T);

impl<T: FromStr<Err: fmt::Display>> FromRequest for In<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let text = web::Path::<String>::from_request(request, payload).into_inner();
        let text = text.map_err(|_| Problem::invalid("the path is not UTF-8: check how it is escaped"));
        ready(text.and_then(|text| text.parse().map(Self).map_err(|error: T::Err| Problem::invalid(error.to_string()))))
    }
}

/// The number of a conflict.
pub(super) struct ConflictNumber(pub(super) i64);

impl FromStr for ConflictNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number| *number >= 0).map(Self);
        number.ok_or_else(|| format!("{:?} is not a conflict: expected its number, such as 42", shown(text)))
    }
}

/// The id of a bulk.
pub(super) struct BulkId(pub(super) String);

impl FromStr for BulkId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let uuid = Uuid::parse_str(text);
        uuid.map(|uuid| Self(uuid.to_string()))
            .map_err(|_| format!("{:?} is not a bulk: expected the UUID that POST /bulks answered", shown(text)))
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}
