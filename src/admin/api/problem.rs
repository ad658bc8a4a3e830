//! What a request is answered that cannot be answered: RFC 9457 problems, made in one place. They say what is wrong and what
//! to do instead.

use std::fmt;

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
};

use crate::{operate::OperateError, store::StoreError};

/// What an asker should wait before it tries again when the database is away.
const RETRY_AFTER_SECONDS: u16 = 5;

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Problem {
    /// `urn:oncehook:problem:…`: stays the same between releases.
    #[serde(rename = "type")]
    pub kind: String,
    /// The type in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong here, and what to do; for people.
    pub detail: String,
    /// Seconds after which another try makes sense; sent as `Retry-After`.
    #[serde(skip)]
    pub retry_after: Option<u16>,
    /// The methods that are allowed; sent as `Allow`.
    #[serde(skip)]
    pub allow: Option<&'static str>,
}

impl Problem {
    /// A problem with this status, a short label that stays, and words for people.
    #[must_use]
    pub fn new(status: StatusCode, slug: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:oncehook:problem:{slug}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            retry_after: None,
            allow: None,
        }
    }

    /// With the seconds after which another try makes sense.
    #[must_use]
    pub fn after(self, seconds: u16) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    pub(super) fn no_such_path() -> Self {
        let detail = "nothing is at this path; /api/v1/openapi.json lists what there is";
        Self::new(StatusCode::NOT_FOUND, "no-such-path", "Not found", detail)
    }

    pub(super) fn method(allow: &'static str) -> Self {
        let detail = format!("this path takes {allow}");
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Self { allow: Some(allow), ..Self::new(status, "method-not-allowed", "Method not allowed", detail) }
    }

    /// A question that is wrong.
    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", "Not understood", detail)
    }

    pub(super) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Busy", detail).after(RETRY_AFTER_SECONDS)
    }

    /// An order of which nobody knows whether it was carried out.
    pub(super) fn outcome_unknown() -> Self {
        let detail = "whether this was done is not known now; send the same request with the same Idempotency-Key again: \
                      that is safe";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(status, "outcome-unknown", "Outcome unknown", detail).after(RETRY_AFTER_SECONDS)
    }
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        let words = error.to_string();
        match error {
            OperateError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", words),
            OperateError::Refused { .. } => Self::new(StatusCode::CONFLICT, "refused", "Refused", words),
            OperateError::Invalid { .. } => Self::invalid(words),
            OperateError::Store(error) => error.into(),
        }
    }
}

/// The details go to the log: they may quote rows, and help nobody who cannot look at the database.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if error.is_outcome_unknown() {
            tracing::warn!(%error, "an operator's request broke off");
            return Self::outcome_unknown();
        }
        if error.is_database_away() {
            tracing::warn!(%error, "an operator's request found no database");
            let detail = "the database is away or too busy; nothing was changed, try again shortly";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Self::new(status, "database-away", "Database away", detail).after(RETRY_AFTER_SECONDS);
        }
        tracing::error!(%error, "an operator's request met a defect");
        let detail = "this is a defect of Oncehook or of its data; nothing was changed, and the log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", "Defect", detail)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).expect("it was one when the problem was made")
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, HeaderValue::from(seconds)));
        }
        if let Some(allow) = self.allow {
            response.insert_header((header::ALLOW, allow));
        }
        response
            .content_type("application/problem+json")
            .body(serde_json::to_string(self).expect("texts and a number are always JSON"))
    }
}
