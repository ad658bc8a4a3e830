//! A stub that loses at the merge: the part `auth` (branch work-auth) has the real extractors. This one lets everybody do
//! everything, as an operator called `stub`.

use std::future::{Ready, ready};

use actix_web::{Error, FromRequest, HttpRequest, dev::Payload};

use crate::operate::{Operator, Role, Via};

/// An operator who may look.
#[derive(Debug, Clone)]
pub struct Signed(pub Operator);

/// An operator who may change things.
#[derive(Debug, Clone)]
pub struct Operating(pub Operator);

fn stub() -> Operator {
    Operator { name: "stub".to_owned(), role: Role::Operate, via: Via::Api }
}

impl FromRequest for Signed {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(_: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(stub())))
    }
}

impl FromRequest for Operating {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(_: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(stub())))
    }
}
