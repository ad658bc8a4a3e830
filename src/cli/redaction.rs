//! Takes header lines and gives what may be shown of them: values that prove something or open something are replaced by
//! their length. Knows names only; it errs on the side of hiding.

use super::visible::VisibleBytes;
use crate::{domain::Headers, fixture::is_secret_header};

/// The header lines as pairs of name and value, in order, safe for a terminal.
#[must_use]
pub fn shown_headers(headers: &Headers) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let is_secret = is_secret_header(name);
            let shown =
                if is_secret { format!("(not shown, {} bytes)", value.len()) } else { VisibleBytes(value).to_string() };
            (VisibleBytes(name.as_bytes()).to_string(), shown)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_and_credentials_are_not_shown() {
        for name in [
            "X-Hub-Signature-256",
            "Stripe-Signature",
            "webhook-signature",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-GitHub-Encoded-Secret",
            "X-Gitlab-Token",
            "X-Api-Key",
        ] {
            let headers: Headers = [(name, "canary")].into_iter().collect();
            assert_eq!(shown_headers(&headers), [(name.to_lowercase(), "(not shown, 6 bytes)".to_owned())]);
        }
    }

    #[test]
    fn other_headers_are_shown_safely() {
        let headers: Headers = [("X-GitHub-Event", &b"push"[..]), ("x-a", b"\x1b[2J\xff")].into_iter().collect();
        let shown = shown_headers(&headers);
        assert_eq!(shown[0], ("x-github-event".to_owned(), "push".to_owned()));
        assert_eq!(shown[1].1, "\\u{1b}[2J\\xff");
    }
}
