//! A session's secret, as it stands in the cookie, and what is made of it: the digest that the database keeps, and the token
//! that forms carry. Knows no request and no database.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The cookie, where the pages are reached without TLS.
const COOKIE: &str = "oncehook_session";

/// And with it: browsers take a cookie of this name only over TLS, for this host and all of its paths.
const COOKIE_TLS: &str = "__Host-oncehook_session";

/// A session's secret: 32 random bytes. It is never shown but in its cookie.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    pub(super) fn fresh() -> Self {
        Self(rand::random())
    }

    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(text, &mut key).ok()?;
        Some(Self(key))
    }

    /// What the database keeps.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.labelled(b"oncehook session\0")
    }

    /// What the session's own forms carry. Who reads a page learns this, and the key not by it.
    fn form_token(&self) -> String {
        hex::encode(self.labelled(b"oncehook form\0"))
    }

    fn labelled(&self, label: &[u8]) -> [u8; 32] {
        Sha256::new().chain_update(label).chain_update(self.0).finalize().into()
    }

    /// The header line that gives the session to a browser. It lasts until the browser is closed, at most: the database knows
    /// when it is over.
    pub(super) fn cookie(&self, is_tls: bool) -> String {
        cookie(&hex::encode(self.0), is_tls, "")
    }
}

/// A session that a request has shown.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) digest: [u8; 32],
    form_token: String,
}

impl Session {
    pub(super) fn of(key: &Key) -> Self {
        Self { digest: key.digest(), form_token: key.form_token() }
    }

    /// What the hidden field `csrf` of its forms holds, and the header `X-CSRF-Token` of its scripts.
    #[must_use]
    pub fn form_token(&self) -> &str {
        &self.form_token
    }
}

/// Whether a form comes from a page of this session: its field `csrf`. The guard has asked this already for each request that
/// changes something.
#[must_use]
pub fn check_form(session: &Session, field: &str) -> bool {
    session.form_token.as_bytes().ct_eq(field.as_bytes()).into()
}

/// What the cookie is called.
pub(super) fn cookie_name(is_tls: bool) -> &'static str {
    if is_tls { COOKIE_TLS } else { COOKIE }
}

/// The header line that takes the session from a browser.
pub(super) fn no_cookie(is_tls: bool) -> String {
    cookie("", is_tls, "; Max-Age=0")
}

fn cookie(value: &str, is_tls: bool, more: &str) -> String {
    let secure = if is_tls { "; Secure" } else { "" };
    format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}", cookie_name(is_tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_gives_the_session_back_and_nothing_else_does() {
        let key = Key::fresh();
        let cookie = key.cookie(true);
        let value = cookie.strip_prefix("__Host-oncehook_session=").unwrap().split(';').next().unwrap();
        assert_eq!(Key::parse(value.as_bytes()).unwrap().digest(), key.digest());
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        assert!(no_cookie(false).ends_with("SameSite=Strict; Max-Age=0"));
        let session = Session::of(&key);
        assert!(check_form(&session, session.form_token()));
        for other in ["", "0", value, &hex::encode(key.digest()), Session::of(&Key::fresh()).form_token()] {
            assert!(!check_form(&session, other), "{other}");
        }
        assert!(!format!("{key:?}").contains(value));
    }
}
