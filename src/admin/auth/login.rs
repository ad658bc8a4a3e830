//! Signing in and out on the pages: a token for a session in a cookie.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web,
};

use super::{
    access::{Access, Stranger},
    credentials,
    guard::see_other,
    next::local_path,
    page::LoginPage,
    refusal::Refusal,
    session::{self, Session},
    visitor::Signed,
};

/// The query of the page.
#[derive(serde::Deserialize)]
struct Asked {
    next: Option<String>,
}

/// The form. It prints nothing of itself.
#[derive(serde::Deserialize)]
struct Form {
    token: String,
    next: Option<String>,
}

/// The paths of signing in and out.
pub fn routes(service: &mut web::ServiceConfig) {
    service
        .service(web::resource("/login").route(web::get().to(show)).route(web::post().to(sign_in)))
        .service(web::resource("/logout").route(web::post().to(sign_out)));
}

async fn show(access: web::Data<Access>, asked: web::Query<Asked>) -> HttpResponse {
    let next = local_path(asked.next.as_deref().unwrap_or("/"));
    if access.is_open() {
        return see_other(&next);
    }
    LoginPage { next: &next, complaint: None }.answer(StatusCode::OK)
}

async fn sign_in(access: web::Data<Access>, request: HttpRequest, form: web::Form<Form>) -> HttpResponse {
    let next = local_path(form.next.as_deref().unwrap_or("/"));
    if access.is_open() {
        return see_other(&next);
    }
    let own = access.own();
    // Otherwise another page could sign somebody in as somebody else, who then sees what they type.
    if own.is_from_own_page(request.headers()) != Some(true) {
        return Refusal::Forged("the form was not sent by this page, or the browser does not say so").page();
    }
    let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip());
    let before = credentials::session_of(request.headers(), own.is_tls()).ok().flatten();
    match access.sign_in(form.token.trim().as_bytes(), peer, before.as_ref()).await {
        Ok((key, _)) => HttpResponse::SeeOther()
            .insert_header((header::LOCATION, next))
            .insert_header((header::SET_COOKIE, key.cookie(own.is_tls())))
            .finish(),
        Err(stranger) => again(&next, stranger),
    }
}

/// The page once more, with what is wrong.
fn again(next: &str, stranger: Stranger) -> HttpResponse {
    let refusal = Refusal::of(stranger, Refusal::WrongToken);
    let complaint = match &refusal {
        Refusal::WrongToken => "Nobody has this token. Is it whole, and has its time not passed?".to_owned(),
        other => other.detail(),
    };
    let mut answer = LoginPage { next, complaint: Some(&complaint) }.answer(refusal.status());
    for (name, value) in refusal.problem().headers() {
        if [header::RETRY_AFTER, header::WWW_AUTHENTICATE].contains(name) {
            answer.headers_mut().insert(name.clone(), value.clone());
        }
    }
    answer
}

async fn sign_out(access: web::Data<Access>, signed: Signed, session: Option<Session>) -> HttpResponse {
    if let Some(session) = session
        && let Err(error) = access.sign_out(&session, &signed.0).await
    {
        tracing::warn!(%error, "a session cannot be ended");
        return Refusal::Away.page();
    }
    let mut answer = see_other("/login");
    if let Ok(cookie) = session::no_cookie(access.own().is_tls()).parse() {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}
