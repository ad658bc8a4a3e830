//! The one door of the operator's port: every request comes through here before any handler, those to paths that do not exist
//! as well. What is not named as open is closed.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::{
    Error, HttpMessage as _, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{Method, header},
    middleware::Next,
    web,
};

use super::{
    access::Access,
    credentials::{self, Shown},
    form,
    next::{local_path, login_path},
    origin::{Own, SEC_FETCH_SITE},
    page::Detour,
    refusal::Refusal,
    session::{Key, Session, check_form},
    visitor::Visitor,
};
use crate::operate::{Role, Via};

/// What anybody may see: whether the process lives, numbers, and how to sign in.
const OPEN: [&str; 4] = ["/livez", "/readyz", "/metrics", "/login"];

/// The pages' style sheet, script and pictures.
const OPEN_FOLDER: &str = "/static/";

/// Where even those who may only look send something.
const LOGOUT: &str = "/logout";

/// Our own script says with it that it loads a page anew by itself.
const RENEWAL_HEADER: &str = "x-oncehook-renewal";

/// Scripts of our own pages send the session's form token in it.
const CSRF_HEADER: &str = "x-csrf-token";

/// Lets a request through to its handler, with who sends it, or answers it.
///
/// # Errors
/// Those of the services behind.
pub async fn guard<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let admitted = match request.app_data::<web::Data<Access>>().map(|access| access.get_ref().clone()) {
        Some(access) => admit(&access, &mut request).await,
        None => Err(Refusal::Unguarded),
    };
    match admitted {
        Ok(visitor) => {
            if let Some(visitor) = visitor {
                request.extensions_mut().insert(visitor);
            }
            next.call(request).await.map(ServiceResponse::map_into_boxed_body)
        }
        Err(refusal) => {
            let answer = answer(&refusal, &request);
            Ok(request.into_response(answer))
        }
    }
}

/// Whether a path is the API's: programs get problems, people get pages.
pub(super) fn is_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// Who sends the request. `None`: nobody asks, since anybody may.
async fn admit(access: &Access, request: &mut ServiceRequest) -> Result<Option<Visitor>, Refusal> {
    let own = access.own();
    own.check_host(request.headers(), request.uri()).map_err(Refusal::Host)?;
    // By the pattern that was matched and not by the path alone, so that no odd path gets another handler's request through.
    let pattern = request.match_pattern();
    if pattern.is_some_and(|pattern| OPEN.contains(&pattern.as_str()) || pattern.starts_with(OPEN_FOLDER)) {
        return Ok(None);
    }
    let visitor = if access.is_open() {
        let via = if is_api(request.path()) { Via::Api } else { Via::Dashboard };
        // A page of somebody else's could send something here just as well as one of ours.
        if is_unsafe(request.method()) && own.is_from_own_page(request.headers()) == Some(false) {
            return Err(Refusal::Forged("the form was sent by a page of another host"));
        }
        Visitor { operator: Access::anyone(via), is_meant: is_unsafe(request.method()), session: None }
    } else {
        match credentials::read(request.headers(), own.is_tls())? {
            Shown::Nothing => return Err(Refusal::NoToken),
            Shown::Token(token) => by_token(access, token, peer_of(request)).await?,
            Shown::Session(key) => by_session(access, &own, &key, request).await?,
        }
    };
    let is_change = is_unsafe(request.method()) && request.path() != LOGOUT;
    if is_change && visitor.operator.role < Role::Operate {
        return Err(Refusal::MayNotOperate(visitor.operator.name));
    }
    Ok(Some(visitor))
}

async fn by_token(access: &Access, token: &[u8], peer: IpAddr) -> Result<Visitor, Refusal> {
    let known = access.by_token(token, peer).await.map_err(|stranger| Refusal::of(stranger, Refusal::WrongToken))?;
    Ok(Visitor { operator: known.operator(Via::Api), is_meant: true, session: None })
}

async fn by_session(access: &Access, own: &Own, key: &Key, request: &mut ServiceRequest) -> Result<Visitor, Refusal> {
    // An open page that keeps itself up to date is nobody who looks at it.
    let is_stream = request.headers().get(header::ACCEPT).is_some_and(|accept| accept == "text/event-stream")
        || request.headers().contains_key(RENEWAL_HEADER);
    let known = access.by_session(key, !is_stream).await.map_err(|s| Refusal::of(s, Refusal::SessionOver))?;
    let session = Session::of(key);
    let is_meant = is_unsafe(request.method());
    if is_meant {
        check_source(own, &session, request).await?;
    }
    Ok(Visitor { operator: known.operator(Via::Dashboard), is_meant, session: Some(session) })
}

/// Whether a request that a browser has sent with its cookie was meant: it comes from a page of ours, and carries what only
/// a page of this session knows.
async fn check_source(own: &Own, session: &Session, request: &mut ServiceRequest) -> Result<(), Refusal> {
    match own.is_from_own_page(request.headers()) {
        Some(true) => {}
        Some(false) => return Err(Refusal::Forged("the form was sent by a page of another host")),
        None => return Err(Refusal::Forged("the request has neither Origin nor Referer, as browsers send them")),
    }
    let mut tokens = request.headers().get_all(CSRF_HEADER);
    let is_ours = match (tokens.next(), tokens.next()) {
        (Some(token), None) => token.to_str().is_ok_and(|token| check_form(session, token)),
        (None, _) => form::csrf_field(request).await?.is_some_and(|field| check_form(session, &field)),
        (Some(_), Some(_)) => false,
    };
    if is_ours { Ok(()) } else { Err(Refusal::Forged("the form's csrf token is not one of this session")) }
}

fn is_unsafe(method: &Method) -> bool {
    ![Method::GET, Method::HEAD, Method::OPTIONS].contains(method)
}

/// Whose connection it is: a proxy's, if there is one. Nothing that a header says about it is believed.
pub(super) fn peer_of(request: &ServiceRequest) -> IpAddr {
    request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip())
}

/// A problem for programs; for people the way to sign in, or a line of text.
fn answer(refusal: &Refusal, request: &ServiceRequest) -> HttpResponse {
    if is_api(request.path()) {
        return refusal.problem();
    }
    if !refusal.is_for_want_of_a_session() {
        return refusal.page();
    }
    if request.method() != Method::GET {
        return see_other("/login");
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let headers = request.headers();
    // A link from elsewhere (a chat, a ticket) comes without the cookie, which is SameSite=Strict. The same request from a page of
    // ours has it, if there is one.
    if headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site")
        && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
    {
        return Detour { path: &local_path(path) }.answer();
    }
    see_other(&login_path(path))
}

pub(super) fn see_other(path: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, path)).finish()
}
