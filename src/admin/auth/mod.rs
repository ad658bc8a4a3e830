//! Who may use the operator's port, and how they show it: a bearer token (programs), or a session in a cookie (pages).
//!
//! # How a handler gets to know who asks
//!
//! [`guard()`] is wrapped around the whole of the port: no handler has to remember it, and a path that is not named as open in it
//! is closed. It sees to the Host header, to token or session, to roles (whatever is not GET, HEAD or OPTIONS needs
//! [`Role::Operate`](crate::operate::Role)), and, where a cookie lets somebody in, to Origin and CSRF token. Behind it:
//!
//! | argument of a handler | what it gives | what it refuses |
//! |---|---|---|
//! | [`Signed`] | the operator | |
//! | [`Operating`] | the operator | 403: role `read`; a GET by cookie |
//! | [`FormToken`] | the value of the hidden field `csrf` of each form, and of `X-CSRF-Token` | |
//!
//! Each answers 500 where the guard was left out.

mod access;
mod credentials;
mod form;
mod guard;
mod headers;
mod login;
mod next;
mod origin;
mod page;
mod refusal;
mod session;
mod tally;
mod throttle;
mod visitor;

pub use access::Access;
pub use form::FORM_BYTES_MAX;
pub use guard::guard;
pub use headers::headers;
pub use login::routes;
pub use session::{Session, check_form};
pub use visitor::{FormToken, Operating, Refused, Signed};
