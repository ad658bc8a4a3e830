//! From where a request comes: which host it is for, and which page sent it. Takes header lines and the settings; browsers
//! write these headers, and a page cannot.

use actix_web::http::{
    Uri,
    header::{HOST, HeaderMap, HeaderName, ORIGIN, REFERER},
};
use url::Url;

/// Browsers tell with it how the page that sends stands to the host.
pub(super) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What this port is called.
#[derive(Debug, Clone)]
pub(super) struct Own {
    /// `admin.public_url`.
    pub(super) public_url: Option<Url>,
    /// Whether the port listens on a loopback address only.
    pub(super) is_local: bool,
}

/// What is wrong with the host of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrongHost {
    /// None, or several.
    Unclear,
    /// Another one than ours.
    Foreign(String),
}

impl Own {
    /// Whether browsers reach it through TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// Refuses hosts that are not ours, where the port is for this machine: a page of another host whose name leads here (DNS
    /// rebinding) would count as our own. Where other machines reach the port, its names are not known; tokens guard it.
    pub(super) fn check_host(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), WrongHost> {
        let named = host_of(headers).ok_or(WrongHost::Unclear)?;
        // A request may name the host in its first line too, and that one would count (RFC 9112, section 3.2.2).
        let hosts = [Some(named), uri.authority().map(actix_web::http::uri::Authority::as_str)];
        for host in hosts.into_iter().flatten() {
            if self.is_local && !self.is_own_name(host) {
                return Err(WrongHost::Foreign(plain(host)));
            }
        }
        Ok(())
    }

    fn is_own_name(&self, host: &str) -> bool {
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        self.public_url.as_ref().is_some_and(|own| own.host() == url.host()) || is_loopback(&url)
    }

    /// Whether the page that sends a form is one of ours: by Origin, or by Referer where that is absent. `None`: the request
    /// does not say; a browser would.
    pub(super) fn is_from_own_page(&self, headers: &HeaderMap) -> Option<bool> {
        let site = headers.get(SEC_FETCH_SITE).map(|value| value.as_bytes() == b"same-origin" || value == "none");
        let from = match sole(headers, &ORIGIN) {
            Some(origin) => Some(origin.is_some_and(|origin| self.is_own_origin(headers, origin))),
            None => sole(headers, &REFERER).map(|page| page.is_some_and(|page| self.is_own_page(headers, page))),
        };
        match (site, from) {
            (Some(false), _) => Some(false),
            (_, from) => from,
        }
    }

    fn is_own_page(&self, headers: &HeaderMap, page: &str) -> bool {
        Url::parse(page).is_ok_and(|page| self.is_own_origin(headers, &page.origin().ascii_serialization()))
    }

    /// `null` is the origin of pages that must not say theirs: it is nobody's.
    fn is_own_origin(&self, headers: &HeaderMap, origin: &str) -> bool {
        let is_public =
            self.public_url.as_ref().is_some_and(|own| own.origin().ascii_serialization().eq_ignore_ascii_case(origin));
        if is_public {
            return true;
        }
        let host = host_of(headers).and_then(|host| Url::parse(&format!("http://{host}/")).ok());
        let origin = Url::parse(origin).ok().filter(|origin| matches!(origin.scheme(), "http" | "https"));
        let (Some(host), Some(origin)) = (host, origin) else { return false };
        // A proxy with TLS may stand in front although nobody said so: the port that neither names is then the scheme's.
        let is_same = origin.host() == host.host() && origin.port() == host.port();
        match self.public_url {
            // Past the proxy, on the machine itself.
            Some(_) => is_same && origin.scheme() == "http" && self.is_local && is_loopback(&host),
            None => is_same,
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The one Host header.
fn host_of(headers: &HeaderMap) -> Option<&str> {
    sole(headers, &HOST)?
}

/// `None`: there is no such header. `Some(None)`: several, or one that is no text.
fn sole<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name);
    let first = values.next()?;
    Some(first.to_str().ok().filter(|_| values.next().is_none()))
}

/// What of a host can be repeated without harm.
fn plain(host: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.:[]".contains(*letter);
    host.chars().filter(is_plain).take(64).collect()
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.parse().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn local() -> Own {
        Own { public_url: None, is_local: true }
    }

    fn public() -> Own {
        Own { public_url: Some("https://hooks.example.com".parse().unwrap()), is_local: true }
    }

    #[test]
    fn a_local_port_is_only_asked_by_its_own_names() {
        let uri = Uri::from_static("/");
        for host in ["localhost", "localhost:8081", "127.0.0.1:8081", "127.0.0.2", "[::1]:8081", "LOCALHOST"] {
            assert_eq!(local().check_host(&headers(&[("host", host)]), &uri), Ok(()), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "127.0.0.1@evil.example", "0.0.0.0"]
        {
            let refused = local().check_host(&headers(&[("host", host)]), &uri);
            assert!(matches!(refused, Err(WrongHost::Foreign(_))), "{host}");
        }
        for lines in [vec![], vec![("host", "localhost"), ("host", "localhost")]] {
            assert_eq!(local().check_host(&headers(&lines), &uri), Err(WrongHost::Unclear));
        }
        assert_eq!(public().check_host(&headers(&[("host", "hooks.example.com")]), &uri), Ok(()));
        assert!(local().check_host(&headers(&[("host", "hooks.example.com")]), &uri).is_err());
        let absolute = Uri::from_static("http://evil.example/");
        assert!(local().check_host(&headers(&[("host", "localhost")]), &absolute).is_err());
        let open = Own { public_url: None, is_local: false };
        assert_eq!(open.check_host(&headers(&[("host", "10.0.0.1")]), &uri), Ok(()));
    }

    #[test]
    fn a_form_comes_from_our_page_or_it_does_not() {
        let at = ("host", "localhost:8081");
        let proxied = ("host", "hooks.example.com");
        for (own, lines, expected) in [
            (local(), vec![at], None),
            (local(), vec![at, ("origin", "http://localhost:8081")], Some(true)),
            (local(), vec![at, ("origin", "http://localhost:3000")], Some(false)),
            (local(), vec![at, ("origin", "http://127.0.0.1:8081")], Some(false)),
            (local(), vec![at, ("origin", "null")], Some(false)),
            (local(), vec![at, ("origin", "")], Some(false)),
            (local(), vec![at, ("origin", "http://localhost:8081"), ("origin", "null")], Some(false)),
            (local(), vec![at, ("origin", "http://localhost:8081@evil.example")], Some(false)),
            (local(), vec![at, ("referer", "http://localhost:8081/receipts?a=b")], Some(true)),
            (local(), vec![at, ("referer", "http://evil.example/http://localhost:8081/")], Some(false)),
            (local(), vec![at, ("origin", "null"), ("referer", "http://localhost:8081/")], Some(false)),
            (local(), vec![at, ("origin", "http://localhost:8081"), ("sec-fetch-site", "same-origin")], Some(true)),
            (local(), vec![at, ("origin", "http://localhost:8081"), ("sec-fetch-site", "cross-site")], Some(false)),
            (local(), vec![at, ("sec-fetch-site", "cross-site")], Some(false)),
            (local(), vec![at, ("sec-fetch-site", "same-site")], Some(false)),
            (public(), vec![proxied, ("origin", "https://hooks.example.com")], Some(true)),
            (public(), vec![proxied, ("origin", "http://hooks.example.com")], Some(false)),
            (public(), vec![at, ("origin", "http://localhost:8081")], Some(true)),
            (public(), vec![proxied, ("origin", "https://example.com")], Some(false)),
        ] {
            assert_eq!(own.is_from_own_page(&headers(&lines)), expected, "{lines:?}");
        }
    }
}
