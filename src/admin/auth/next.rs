//! Where to go after signing in: a path of this host. Takes text of any origin, and never leads elsewhere.

use url::Url;

/// The longest path that is remembered over a sign-in: filters in the address are longer than names, and shorter than this.
const BYTES_MAX: usize = 2_048;

/// A path on this host, with its query; the first page for anything else.
///
/// A browser reads `//host`, `/\host` and `/<tab>/host` as another host's. So the text is read as a browser reads it, and what
/// it then came to is written anew.
pub(super) fn local_path(text: &str) -> String {
    const START: &str = "/";
    let read = || {
        let base = Url::parse("http://oncehook.invalid/").ok()?;
        let url = base.join(text).ok().filter(|url| url.origin() == base.origin() && url.username().is_empty())?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let is_loop = ["/login", "/logout"].contains(&url.path());
        (path.starts_with('/') && !path.starts_with("//") && !is_loop).then(|| path.to_owned())
    };
    if text.len() > BYTES_MAX || !text.starts_with('/') {
        return START.to_owned();
    }
    read().unwrap_or_else(|| START.to_owned())
}

/// The address of the sign-in page that leads back to `path`.
pub(super) fn login_path(path: &str) -> String {
    let path = local_path(path);
    if path == "/" {
        return "/login".to_owned();
    }
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", &path).finish();
    format!("/login?{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_ours_is_kept_and_nothing_else() {
        for path in ["/", "/receipts", "/receipts?source=github&id=a%20b", "/receipts/rcp_1/payload"] {
            assert_eq!(local_path(path), path);
        }
        for other in [
            "",
            "receipts",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            "\\\\evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
            "/login",
            "/login?next=/login",
            "/logout",
            "/a/..//evil.example",
            "@evil.example",
        ] {
            assert_eq!(local_path(other), "/", "{other:?}");
        }
        assert!(!local_path("/a\r\nSet-Cookie: b=c").contains(['\r', '\n', ' ']));
        assert!(!local_path("/\"><script>").contains(['"', '<', '>']));
        assert_eq!(login_path("/receipts?a=b&c=d"), "/login?next=%2Freceipts%3Fa%3Db%26c%3Dd");
        assert_eq!(login_path("//evil.example/a"), "/login");
    }
}
