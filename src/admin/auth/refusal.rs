//! Answers to requests that are not let in: RFC 9457 problems for programs, the way to the sign-in page or a line of text for
//! people. They never repeat what was shown.

use std::time::Duration;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use serde_json::json;

use super::{access::Stranger, credentials::Ambiguous, origin::WrongHost};
use crate::admin::pages;

/// What to do without the database, in seconds.
const RETRY_AFTER_SECONDS: u64 = 5;

/// Why a request is not let in.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It shows nothing.
    NoToken,
    /// It shows a token that nobody has.
    WrongToken,
    /// It shows a session that is over.
    SessionOver,
    /// It shows several things, or what cannot be a token.
    Ambiguous(Ambiguous),
    /// Whoever sends it may only look.
    MayNotOperate(String),
    /// It changes something, and may come from a page of somebody else's.
    Forged(&'static str),
    /// It is for another host.
    Host(WrongHost),
    /// Too many wrong tokens.
    Throttled(Duration),
    /// Its form is too large, or broke off.
    Form,
    /// Tokens cannot be looked up now.
    Away,
    /// A defect: nobody has asked who it comes from.
    Unguarded,
}

impl From<Ambiguous> for Refusal {
    fn from(ambiguous: Ambiguous) -> Self {
        Self::Ambiguous(ambiguous)
    }
}

impl Refusal {
    /// `unknown`: what to say where there is no such token or session.
    pub(super) fn of(stranger: Stranger, unknown: Self) -> Self {
        match stranger {
            Stranger::Unknown => unknown,
            Stranger::Throttled(wait) => Self::Throttled(wait),
            Stranger::Away(error) => {
                tracing::warn!(%error, "who sends a request cannot be looked up");
                Self::Away
            }
        }
    }

    /// Whether signing in would help.
    pub(super) fn is_for_want_of_a_session(&self) -> bool {
        matches!(self, Self::NoToken | Self::SessionOver)
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NoToken | Self::WrongToken | Self::SessionOver | Self::Ambiguous(_) => StatusCode::UNAUTHORIZED,
            Self::MayNotOperate(_) | Self::Forged(_) => StatusCode::FORBIDDEN,
            Self::Host(WrongHost::Unclear) | Self::Form => StatusCode::BAD_REQUEST,
            Self::Host(WrongHost::Foreign(_)) => StatusCode::MISDIRECTED_REQUEST,
            Self::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Away => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unguarded => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// A short label that stays the same between releases, and a title.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoToken => ("no-token", "Not signed in"),
            Self::WrongToken => ("wrong-token", "Wrong token"),
            Self::SessionOver => ("session-over", "The session is over"),
            Self::Ambiguous(_) => ("ambiguous-token", "Which token?"),
            Self::MayNotOperate(_) => ("may-not-operate", "Not allowed"),
            Self::Forged(_) => ("forged", "Perhaps another page's doing"),
            Self::Host(_) => ("wrong-host", "Wrong host"),
            Self::Throttled(_) => ("throttled", "Too many attempts"),
            Self::Form => ("form", "Not understood"),
            Self::Away => ("database-away", "Not readable"),
            Self::Unguarded => ("unguarded", "A defect"),
        }
    }

    /// What is wrong and what to do.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::NoToken => "send Authorization: Bearer and a token: an operator makes one with \"oncehook tokens create NAME --role read\"".to_owned(),
            Self::WrongToken => "nobody has this token: it was revoked, its time is over, or it is not whole; \"oncehook tokens list\" shows those that there are".to_owned(),
            Self::SessionOver => "this session is over: sign in again at /login".to_owned(),
            Self::Ambiguous(Ambiguous::Authorization) => "there are several Authorization headers: send one".to_owned(),
            Self::Ambiguous(Ambiguous::Token) => {
                "what follows Bearer is no token: send the token alone, at most 512 visible ASCII characters".to_owned()
            }
            Self::Ambiguous(Ambiguous::Session) => {
                "there are several cookies of this port's session: remove those of other hosts of this site, and sign in again".to_owned()
            }
            Self::MayNotOperate(name) => {
                format!("the token {name} has the role read, and this needs the role operate")
            }
            Self::Forged(what) => format!("{what}; open the page anew and try again"),
            Self::Host(WrongHost::Unclear) => "a request has exactly one Host header".to_owned(),
            Self::Host(WrongHost::Foreign(host)) => format!(
                "the request is for the host {host}, and this port only serves localhost: use http://localhost, or set admin.public_url to the address that a proxy gives it (then: the one whose host is {host})"
            ),
            Self::Throttled(wait) => format!("too many wrong tokens have been tried: wait for {} s", seconds(*wait)),
            Self::Form => "the form cannot be read: it is larger than 1 MiB, came too slowly, or broke off".to_owned(),
            Self::Away => "who may come in cannot be looked up, since the database is away; try again shortly".to_owned(),
            Self::Unguarded => "nobody has asked who sends this request, so it is not served".to_owned(),
        }
    }

    /// The answer for programs.
    pub(super) fn problem(&self) -> HttpResponse {
        let (slug, title) = self.names();
        let status = self.status();
        let body = json!({
            "type": format!("urn:oncehook:problem:{slug}"),
            "title": title,
            "status": status.as_u16(),
            "detail": self.detail(),
        });
        self.builder().content_type("application/problem+json").body(body.to_string())
    }

    /// The answer for people.
    pub(super) fn page(&self) -> HttpResponse {
        let (_, title) = self.names();
        let mut page = pages::refusal(self.status(), title, &[&self.detail()]);
        for (name, value) in self.builder().finish().headers() {
            page.headers_mut().insert(name.clone(), value.clone());
        }
        page
    }

    fn builder(&self) -> actix_web::HttpResponseBuilder {
        let mut response = HttpResponse::build(self.status());
        match self {
            Self::Throttled(wait) => {
                response.insert_header((header::RETRY_AFTER, seconds(*wait)));
            }
            Self::Away => {
                response.insert_header((header::RETRY_AFTER, RETRY_AFTER_SECONDS));
            }
            _ if self.status() == StatusCode::UNAUTHORIZED => {
                response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Whole seconds, and not one too few.
fn seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX)
}
