//! What a request shows to be let in: a bearer token, or the cookie of a session. Takes header lines, gives what they say;
//! never compares it with anything, and never guesses between two of a kind.

use actix_web::http::header::{AUTHORIZATION, COOKIE, HeaderMap};

use super::session::{self, Key};
use crate::verify::TOKEN_BYTES_MAX;

const BEARER: &[u8] = b"bearer";

/// What a request shows.
#[derive(Debug)]
pub(super) enum Shown<'a> {
    /// Nothing that this port knows.
    Nothing,
    /// `Authorization: Bearer …`.
    Token(&'a [u8]),
    /// The cookie of a session.
    Session(Key),
}

/// Why what a request shows is not even looked at: whoever stands in front of this port may have gone by the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ambiguous {
    /// Several Authorization headers.
    Authorization,
    /// A bearer token that cannot be one.
    Token,
    /// Several cookies of the session's name: another host of the same site may have set one.
    Session,
}

/// Reads the headers. A token goes before a cookie: browsers send none by themselves. Another scheme of `Authorization` is a
/// proxy's own login, and counts as nothing.
pub(super) fn read(headers: &HeaderMap, is_tls: bool) -> Result<Shown<'_>, Ambiguous> {
    let mut lines = headers.get_all(AUTHORIZATION);
    if let Some(line) = lines.next() {
        if lines.next().is_some() {
            return Err(Ambiguous::Authorization);
        }
        if let Some(rest) = after_bearer(line.as_bytes()) {
            return token_of(rest).map(Shown::Token).ok_or(Ambiguous::Token);
        }
    }
    session_of(headers, is_tls).map(|key| key.map_or(Shown::Nothing, Shown::Session))
}

/// The session in the cookies. A value that no session ever had is none.
pub(super) fn session_of(headers: &HeaderMap, is_tls: bool) -> Result<Option<Key>, Ambiguous> {
    let name = session::cookie_name(is_tls).as_bytes();
    let mut values = headers
        .get_all(COOKIE)
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .filter_map(|cookie| cookie.trim_ascii().strip_prefix(name)?.strip_prefix(b"="));
    let first = values.next();
    if values.next().is_some() {
        return Err(Ambiguous::Session);
    }
    Ok(first.and_then(Key::parse))
}

/// What follows the word, which has no case (RFC 9110, section 11.1). `None`: another scheme.
fn after_bearer(value: &[u8]) -> Option<&[u8]> {
    let (word, rest) = value.split_at_checked(BEARER.len())?;
    let ends = rest.first().is_none_or(|byte| *byte == b' ');
    (word.eq_ignore_ascii_case(BEARER) && ends).then_some(rest)
}

fn token_of(rest: &[u8]) -> Option<&[u8]> {
    let token = rest.trim_ascii();
    let is_token = !token.is_empty() && token.len() <= TOKEN_BYTES_MAX && token.iter().all(u8::is_ascii_graphic);
    is_token.then_some(token)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn shown(lines: &[(&'static str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        match read(&headers, false) {
            Ok(Shown::Nothing) => "nothing".to_owned(),
            Ok(Shown::Token(token)) => format!("token {}", String::from_utf8_lossy(token)),
            Ok(Shown::Session(_)) => "session".to_owned(),
            Err(ambiguous) => format!("{ambiguous:?}"),
        }
    }

    #[test]
    fn what_is_shown_twice_is_not_guessed_at() {
        let key = "ab".repeat(32);
        let cookie = format!("oncehook_session={key}");
        let twice = format!("a=b; {cookie}; {cookie}");
        for (lines, expected) in [
            (vec![], "nothing"),
            (vec![("authorization", "Bearer abc")], "token abc"),
            (vec![("authorization", "bearer   abc")], "token abc"),
            (vec![("authorization", "Bearer")], "Token"),
            (vec![("authorization", "Bearer a b")], "Token"),
            (vec![("authorization", "Bearerabc")], "nothing"),
            (vec![("authorization", "Basic YTpi"), ("cookie", &cookie)], "session"),
            (vec![("authorization", "Bearer a"), ("authorization", "Bearer a")], "Authorization"),
            (vec![("authorization", "Basic a"), ("authorization", "Bearer a")], "Authorization"),
            (vec![("authorization", "Bearer abc"), ("cookie", &cookie)], "token abc"),
            (vec![("cookie", &twice)], "Session"),
            (vec![("cookie", &cookie), ("cookie", &cookie)], "Session"),
            (vec![("cookie", "oncehook_session=abc")], "nothing"),
            (vec![("cookie", "__Host-oncehook_session=abc; xoncehook_session=abc")], "nothing"),
        ] {
            assert_eq!(shown(&lines), expected, "{lines:?}");
        }
    }
}
