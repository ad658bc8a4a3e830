//! Answers to requests that were not recorded: RFC 9457 problems. They tell the sender's operator what is wrong and what to
//! do, and never a digest, a secret, or what runs here.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    error::PayloadError,
    http::{StatusCode, header},
};
use serde_json::json;

use super::tally::Turnout;
use crate::{
    config::Source,
    domain::ReceiptId,
    provider::IdentifyError,
    record::RecordError,
    verify::{Scheme, VerifyError},
};

/// What a sender should wait before it tries again.
const RETRY_AFTER_SECONDS: &str = "5";

/// What a caller should wait before it looks again at a command that is being worked on.
pub(super) const PENDING_RETRY_AFTER_SECONDS: &str = "2";

/// The longest part of a request that is quoted back.
const QUOTED_LENGTH_MAX: usize = 64;

/// Why a request was not recorded.
#[derive(Debug)]
pub(super) struct Problem {
    turnout: Turnout,
    status: StatusCode,
    /// A short label that stays the same between releases.
    slug: &'static str,
    title: &'static str,
    detail: String,
    /// Whether the rest of the body is not wanted any more.
    closes: bool,
    /// Whether the answer says how to prove who sends, as HTTP asks for where a token is taken.
    challenges: bool,
    /// The command that the problem is about, and where to look at it.
    command: Option<(ReceiptId, String)>,
}

impl Problem {
    fn new(turnout: Turnout, status: StatusCode, slug: &'static str, title: &'static str, detail: String) -> Self {
        Self { turnout, status, slug, title, detail, closes: false, challenges: false, command: None }
    }

    fn closing(self) -> Self {
        Self { closes: true, ..self }
    }

    fn challenging(self, challenges: bool) -> Self {
        Self { challenges, ..self }
    }

    fn about(self, receipt: ReceiptId, location: String) -> Self {
        Self { command: Some((receipt, location)), ..self }
    }

    /// What it counts as.
    pub(super) fn turnout(&self) -> Turnout {
        self.turnout
    }

    pub(super) fn unknown_source(name: &str) -> Self {
        // Nothing that JSON would have to escape: the answer keeps its length, and a scanner's text stays harmless.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter);
        let quoted: String =
            name.chars().take(QUOTED_LENGTH_MAX).map(|letter| if is_plain(letter) { letter } else { '?' }).collect();
        let detail = format!(
            "no source is named '{quoted}'; check the path: it is /hooks/ and the source's name, no slash behind"
        );
        Self::new(Turnout::UnknownSource, StatusCode::NOT_FOUND, "unknown-source", "Unknown source", detail).closing()
    }

    pub(super) fn not_a_post() -> Self {
        let detail = "this is a webhook source: providers POST to it, and there is nothing to see".to_owned();
        Self::new(Turnout::Malformed, StatusCode::METHOD_NOT_ALLOWED, "not-a-post", "Only POST", detail).closing()
    }

    pub(super) fn no_such_path() -> Self {
        let detail =
            "nothing is at this path; webhooks go to /hooks/ and the source's name, no slash behind".to_owned();
        Self::new(Turnout::UnknownSource, StatusCode::NOT_FOUND, "no-such-path", "Not found", detail).closing()
    }

    pub(super) fn unverified(source: &Source, error: &VerifyError) -> Self {
        tracing::info!(source = %source.name, reason = error.reason(), "a request was not believed: {error}");
        Self::new(Turnout::Unverified, StatusCode::UNAUTHORIZED, error.reason(), "Not verified", error.to_string())
            .closing()
            .challenging(source.scheme == Some(Scheme::Api))
    }

    /// A command that was sent again while the first is being worked on.
    pub(super) fn still_pending(receipt: ReceiptId, location: String) -> Self {
        let detail =
            "this command was accepted before and is being worked on; look at Location, or send it again later";
        let status = StatusCode::CONFLICT;
        Self::new(Turnout::Duplicate, status, "still-pending", "Still pending", detail.to_owned())
            .about(receipt, location)
    }

    /// A key that comes back with another payload.
    pub(super) fn key_reused(receipt: ReceiptId, location: String) -> Self {
        let detail = "this Idempotency-Key came before with another payload; both are kept, this one is not run: send it \
                      under a new key";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self::new(Turnout::Conflict, status, "key-reused", "Key reused", detail.to_owned()).about(receipt, location)
    }

    /// No such receipt, or another caller's: which of the two is not told.
    pub(super) fn unknown_receipt() -> Self {
        let detail =
            "you have sent no command with this receipt to this source; take the path from Location".to_owned();
        Self::new(Turnout::Malformed, StatusCode::NOT_FOUND, "unknown-receipt", "Unknown receipt", detail)
    }

    pub(super) fn status_unreadable() -> Self {
        let detail = "what became of the command cannot be read now; asking or sending it again is safe".to_owned();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(Turnout::NotRecorded, status, "status-unreadable", "Not readable", detail)
    }

    pub(super) fn malformed(error: &IdentifyError) -> Self {
        Self::new(Turnout::Malformed, StatusCode::BAD_REQUEST, "malformed", "Not understood", error.to_string())
    }

    pub(super) fn headers_too_large(bytes_max: usize) -> Self {
        let detail = format!("the header lines are longer than {bytes_max} bytes together");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        Self::new(Turnout::TooLarge, status, "headers-too-large", "Headers too large", detail).closing()
    }

    pub(super) fn body_too_large(bytes_max: usize) -> Self {
        let detail = format!("the body is larger than {bytes_max} bytes, the source's body_bytes_max");
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Self::new(Turnout::TooLarge, status, "body-too-large", "Body too large", detail).closing()
    }

    pub(super) fn body_too_slow(timeout: Duration) -> Self {
        let detail = format!("the body came too slowly; it must be here within {} s", timeout.as_secs_f32());
        Self::new(Turnout::TooSlow, StatusCode::REQUEST_TIMEOUT, "body-too-slow", "Body too slow", detail).closing()
    }

    pub(super) fn body_broken(error: &PayloadError) -> Self {
        let detail = match error {
            PayloadError::Incomplete(_) => "the body broke off before its announced end",
            _ => "the body is not framed as HTTP/1.1 asks for",
        };
        Self::new(Turnout::TooSlow, StatusCode::BAD_REQUEST, "body-broken", "Body broken", detail.to_owned()).closing()
    }

    pub(super) fn no_memory_left() -> Self {
        let detail = "too many bytes of other requests are in memory; try again shortly".to_owned();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(Turnout::NotRecorded, status, "busy", "Busy", detail).closing()
    }

    pub(super) fn not_recorded(error: &RecordError) -> Self {
        let slug = match error {
            RecordError::Busy => "busy",
            RecordError::Unavailable => "database-away",
            RecordError::Unknown => "outcome-unknown",
            RecordError::Refused => "refused-by-database",
        };
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(Turnout::NotRecorded, status, slug, "Not recorded", error.to_string())
    }

    pub(super) fn recorded_too_slowly() -> Self {
        let detail =
            "recording took too long; whether the event was stored is unknown, sending it again is safe".to_owned();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(Turnout::NotRecorded, status, "outcome-unknown", "Not recorded", detail)
    }

    pub(super) fn shutting_down() -> Self {
        let detail = "oncehook is shutting down; try again shortly".to_owned();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::new(Turnout::NotRecorded, status, "shutting-down", "Shutting down", detail)
    }
}

impl From<Problem> for HttpResponse {
    fn from(problem: Problem) -> Self {
        let mut response = Self::build(problem.status);
        if problem.status == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header((header::RETRY_AFTER, RETRY_AFTER_SECONDS));
        }
        if problem.status == StatusCode::METHOD_NOT_ALLOWED {
            response.insert_header((header::ALLOW, "POST"));
        }
        if problem.challenges {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        if problem.status == StatusCode::CONFLICT {
            response.insert_header((header::RETRY_AFTER, PENDING_RETRY_AFTER_SECONDS));
        }
        if problem.closes {
            response.force_close();
        }
        let mut body = json!({
            "type": format!("urn:oncehook:problem:{}", problem.slug.replace('_', "-")),
            "title": problem.title,
            "status": problem.status.as_u16(),
            "detail": problem.detail,
        });
        if let Some((receipt, location)) = problem.command {
            response.insert_header((header::LOCATION, location));
            body["receipt"] = json!(receipt);
        }
        response.content_type("application/problem+json").body(body.to_string())
    }
}
