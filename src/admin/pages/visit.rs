//! Who looks at a page and what they ask for (a visit), and who sent a form (an order). The pages' only way to the request.

use std::{future::Future, pin::Pin};

use actix_web::{Error, FromRequest, HttpRequest, HttpResponse, dev::Payload, http::header, web};
use askama::Template;

use super::{
    answer,
    fields::Fields,
    flash,
    shell::{Here, Shell},
};
use crate::{
    admin::auth::{FormToken, Operating, Signed},
    operate::{Instruction, OperateError, Operator, Result, Role},
};

type Coming<T> = Pin<Box<dyn Future<Output = std::result::Result<T, Error>>>>;

/// The parts of a path that are not written in it.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Parts {
    id: String,
    act: String,
    kind: String,
}

/// One look at a page by someone who is signed in.
pub struct Visit {
    operator: Operator,
    token: String,
    /// What stands behind the question mark.
    pub(super) fields: Fields,
    parts: Parts,
    request: HttpRequest,
}

impl FromRequest for Visit {
    type Error = Error;
    type Future = Coming<Self>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let Signed(operator) = Signed::extract(&request).await?;
            let FormToken(token) = FormToken::extract(&request).await?;
            let fields = Fields::parse(request.query_string().as_bytes());
            let parts = web::Path::<Parts>::extract(&request).await?.into_inner();
            Ok(Self { operator, token, fields, parts, request })
        })
    }
}

impl Visit {
    /// What is around the page.
    pub(super) fn shell(&self, title: impl Into<String>, here: Here) -> Shell {
        Shell {
            title: title.into(),
            here,
            operator: Some(self.operator.name.clone()),
            role: self.operator.role.as_str(),
            may_operate: self.operator.role >= Role::Operate,
            csrf: self.token.clone(),
            flash: self.fields.given("done").and_then(flash::sentence),
            ..Shell::outside()
        }
    }

    /// A part of the path, decoded.
    pub(super) fn part(&self, name: &str) -> &str {
        match name {
            "id" => &self.parts.id,
            "act" => &self.parts.act,
            _ => &self.parts.kind,
        }
    }

    /// A part of the path as an id or a number; anything else is not there.
    ///
    /// # Errors
    /// [`OperateError::NotFound`].
    pub(super) fn id<T: std::str::FromStr>(&self, what: &'static str) -> Result<T> {
        let text = self.part("id");
        let name: String = text.chars().take(80).collect();
        text.parse().map_err(|_| OperateError::NotFound { what, name })
    }

    /// The name by which the browser knows this machine, without a port; the header is the visitor's own word.
    pub(super) fn host(&self) -> String {
        let host = self.request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        url::Url::parse(&format!("http://{host}/"))
            .ok()
            .and_then(|url| url.host_str().map(ToOwned::to_owned))
            .unwrap_or_else(|| "localhost".to_owned())
    }

    /// The page, or one that says why there is none.
    pub(super) fn answer(&self, page: Result<impl Template>) -> HttpResponse {
        match page {
            Ok(page) => answer::page(&page),
            Err(error) => answer::failure(self.shell("", Here::Nowhere), &error),
        }
    }
}

/// A form sent from one of our pages by someone who may change things: the guard in front of this port has seen to its origin
/// and its token.
pub struct Order {
    operator: Operator,
    visit: Visit,
    /// What was filled in.
    pub(super) form: Fields,
}

impl FromRequest for Order {
    type Error = Error;
    type Future = Coming<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = web::Bytes::from_request(request, payload);
        let request = request.clone();
        Box::pin(async move {
            let Operating(operator) = Operating::extract(&request).await?;
            let form = Fields::parse(&body.await?);
            Ok(Self { operator, visit: Visit::extract(&request).await?, form })
        })
    }
}

impl Order {
    /// Who ordered it, and why.
    pub(super) fn instruction(&self) -> Instruction<'_> {
        Instruction { by: &self.operator, reason: self.form.given("reason") }
    }

    /// As [`Visit::id`].
    ///
    /// # Errors
    /// [`OperateError::NotFound`].
    pub(super) fn id<T: std::str::FromStr>(&self, what: &'static str) -> Result<T> {
        self.visit.id(what)
    }

    /// As [`Visit::part`].
    pub(super) fn part(&self, name: &str) -> &str {
        self.visit.part(name)
    }

    /// On to the page that shows what came of it, so that reloading does not send the form again; or a page that says why
    /// nothing was done.
    pub(super) fn answer(&self, place: Result<String>) -> HttpResponse {
        match place {
            Ok(place) => answer::see(&place),
            Err(error) => answer::failure(self.visit.shell("", Here::Nowhere), &error),
        }
    }
}
