//! Who sends a request, as handlers ask for it. The guard has put it there; where it has not, nobody is served.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest, HttpResponse, ResponseError, dev::Payload, http::StatusCode,
};

use super::{guard::is_api, refusal::Refusal, session::Session};
use crate::operate::{Operator, Role};

/// Who sends a request.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) operator: Operator,
    /// Whether the request is known to be what they want: it carries a bearer token, or comes from a form of ours.
    pub(super) is_meant: bool,
    pub(super) session: Option<Session>,
}

/// Whoever is signed in, with any role.
#[derive(Debug, Clone)]
pub struct Signed(pub Operator);

/// Whoever is signed in, may change things, and has meant to: never a GET that another page has caused.
#[derive(Debug, Clone)]
pub struct Operating(pub Operator);

/// What the hidden field `csrf` of each form must hold, and the header `X-CSRF-Token` of each script's request. Empty where no
/// session is in use (a bearer token, `--no-auth`): none is asked for then.
#[derive(Debug, Clone)]
pub struct FormToken(pub String);

/// A refusal on its way through actix.
#[derive(Debug)]
pub struct Refused {
    refusal: Refusal,
    is_api: bool,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.refusal.detail())
    }
}

impl ResponseError for Refused {
    fn status_code(&self) -> StatusCode {
        self.refusal.problem().status()
    }

    fn error_response(&self) -> HttpResponse {
        if self.is_api { self.refusal.problem() } else { self.refusal.page() }
    }
}

fn visitor(request: &HttpRequest) -> Result<Visitor, Refused> {
    let visitor = request.extensions().get::<Visitor>().cloned();
    visitor.ok_or_else(|| Refused { refusal: Refusal::Unguarded, is_api: is_api(request.path()) })
}

fn operating(request: &HttpRequest) -> Result<Operating, Refused> {
    let visitor = visitor(request)?;
    let refuse = |refusal| Err(Refused { refusal, is_api: is_api(request.path()) });
    if visitor.operator.role < Role::Operate {
        return refuse(Refusal::MayNotOperate(visitor.operator.name));
    }
    if !visitor.is_meant {
        return refuse(Refusal::Forged("a request that changes something is a POST with the page's csrf token"));
    }
    Ok(Operating(visitor.operator))
}

impl FromRequest for Signed {
    type Error = Refused;
    type Future = Ready<Result<Self, Refused>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(visitor(request).map(|visitor| Self(visitor.operator)))
    }
}

impl FromRequest for Operating {
    type Error = Refused;
    type Future = Ready<Result<Self, Refused>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(operating(request))
    }
}

impl FromRequest for FormToken {
    type Error = Refused;
    type Future = Ready<Result<Self, Refused>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let token = |visitor: Visitor| visitor.session.map_or(String::new(), |session| session.form_token().to_owned());
        ready(visitor(request).map(|visitor| Self(token(visitor))))
    }
}

impl FromRequest for Session {
    type Error = Refused;
    type Future = Ready<Result<Self, Refused>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let refused = || Refused { refusal: Refusal::NoToken, is_api: is_api(request.path()) };
        ready(visitor(request).and_then(|visitor| visitor.session.ok_or_else(refused)))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;
    use crate::{admin::auth::session::Key, operate::Via};

    fn request(path: &str, visitor: Option<Visitor>) -> HttpRequest {
        let request = TestRequest::with_uri(path).to_http_request();
        if let Some(visitor) = visitor {
            request.extensions_mut().insert(visitor);
        }
        request
    }

    fn of(role: Role, is_meant: bool, session: Option<Session>) -> Option<Visitor> {
        Some(Visitor { operator: Operator { name: "anna".to_owned(), role, via: Via::Dashboard }, is_meant, session })
    }

    #[tokio::test]
    async fn where_the_guard_was_left_out_nobody_is_served() {
        for path in ["/receipts", "/api/v1/receipts"] {
            let request = request(path, None);
            assert_eq!(Signed::extract(&request).await.unwrap_err().status_code(), 500);
            assert_eq!(Operating::extract(&request).await.unwrap_err().status_code(), 500);
            assert_eq!(FormToken::extract(&request).await.unwrap_err().status_code(), 500);
            assert_eq!(Session::extract(&request).await.unwrap_err().status_code(), 500);
        }
    }

    #[tokio::test]
    async fn who_may_only_look_and_who_did_not_mean_it_change_nothing() {
        for (visitor, is_refused) in [
            (of(Role::Read, true, None), true),
            (of(Role::Operate, false, None), true),
            (of(Role::Operate, true, None), false),
        ] {
            let request = request("/receipts", visitor);
            assert_eq!(Signed::extract(&request).await.unwrap().0.name, "anna");
            let operating = Operating::extract(&request).await;
            assert_eq!(operating.is_err_and(|refused| refused.status_code() == 403), is_refused);
        }
    }

    #[tokio::test]
    async fn forms_get_the_token_of_their_session() {
        let session = Session::of(&Key::fresh());
        let request_of = |session| request("/receipts", of(Role::Read, false, session));
        let token = FormToken::extract(&request_of(Some(session.clone()))).await.unwrap().0;
        assert!(token == session.form_token() && token.len() == 64);
        assert_eq!(FormToken::extract(&request_of(None)).await.unwrap().0, "");
        assert_eq!(Session::extract(&request_of(None)).await.unwrap_err().status_code(), 401);
    }
}
