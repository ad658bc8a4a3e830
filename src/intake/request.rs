//! The head of a request: header lines within limits, secrets removed, the peer's address.

use actix_web::{HttpRequest, http::header::CONTENT_LENGTH};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use chrono::{DateTime, Utc};
use memchr::memmem;

use super::problem::Problem;
use crate::{
    config::{Intake as Limits, Source},
    domain::{Headers, Secret},
};

/// What stands in place of a removed value.
const REDACTED: &[u8] = b"[redacted by oncehook]";

/// Headers that carry credentials, or that GitHub once filled with the webhook's secret (incident of 2025-09 to 2026-01).
const NEVER_STORED: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-github-encoded-secret"];

/// Headers that concern one connection and not the event.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];

/// The head of one request.
pub(super) struct Incoming {
    /// Header lines, names sorted, repeats in the order sent.
    pub headers: Headers,
    /// The peer's address, without port.
    pub remote_address: Option<String>,
    /// When the body had been read; the epoch until then.
    pub received_at: DateTime<Utc>,
}

impl Incoming {
    /// Reads the head and refuses what is too large before a byte of the body is read.
    pub(super) fn read(request: &HttpRequest, source: &Source, limits: &Limits) -> Result<Self, Problem> {
        if let Some(announced) = announced_bytes(request)
            && announced > source.body_bytes_max as u64
        {
            return Err(Problem::body_too_large(source.body_bytes_max));
        }
        let mut lines: Vec<(&str, &[u8])> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .filter(|(name, _)| !HOP_BY_HOP.contains(name))
            .collect();
        // The library's map has no order between names; a stable sort keeps repeats as they came.
        lines.sort_by_key(|(name, _)| *name);
        if lines.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > limits.header_bytes_max {
            return Err(Problem::headers_too_large(limits.header_bytes_max));
        }
        Ok(Self {
            headers: lines.into_iter().collect(),
            remote_address: request.peer_addr().map(|peer| peer.ip().to_string()),
            received_at: DateTime::UNIX_EPOCH,
        })
    }

    /// Removes credentials, and any value that is one of `secrets` in plain, base64 or hexadecimal form, so that none is ever
    /// written. Signatures stay: they are no secrets, and evidence.
    pub(super) fn redact(&mut self, secrets: &[Secret]) {
        let forms: Vec<Vec<u8>> = secrets.iter().flat_map(forms_of).collect();
        let holds_secret = |value: &[u8]| forms.iter().any(|form| memmem::find(value, form).is_some());
        self.headers = self
            .headers
            .iter()
            .map(|(name, value)| {
                let is_hidden = NEVER_STORED.contains(&name) || holds_secret(value);
                (name, if is_hidden { REDACTED } else { value })
            })
            .collect();
    }
}

/// The ways in which a secret could be written. Base64 without its padding is the beginning of base64 with it.
fn forms_of(secret: &Secret) -> Vec<Vec<u8>> {
    let key = secret.expose();
    if key.is_empty() {
        // Nothing is found everywhere, and tells nothing.
        return Vec::new();
    }
    vec![
        key.to_vec(),
        STANDARD_NO_PAD.encode(key).into_bytes(),
        URL_SAFE_NO_PAD.encode(key).into_bytes(),
        hex::encode(key).into_bytes(),
        hex::encode_upper(key).into_bytes(),
    ]
}

/// What `Content-Length` says, where it is a number; the HTTP library refuses the rest.
fn announced_bytes(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn redacted(name: &str, value: &[u8]) -> Vec<u8> {
        redacted_with(b"ghsecret-0123456789", name, value)
    }

    fn redacted_with(key: &[u8], name: &str, value: &[u8]) -> Vec<u8> {
        let headers = [(name, value)].into_iter().collect();
        let mut incoming = Incoming { headers, remote_address: None, received_at: DateTime::UNIX_EPOCH };
        incoming.redact(&[Secret::new(key.to_vec())]);
        incoming.headers.only(name).unwrap().to_vec()
    }

    #[test]
    fn any_secret_can_be_looked_for_even_none() {
        for key in [&b""[..], b"\0", b"\xff\xfe\xfd~~~???", &[0; 200]] {
            assert_eq!(redacted_with(key, "x-a", b""), b"");
            assert_eq!(redacted_with(key, "x-a", b"ordinary"), b"ordinary");
            let written = [
                key.to_vec(),
                STANDARD.encode(key).into_bytes(),
                URL_SAFE_NO_PAD.encode(key).into_bytes(),
                hex::encode_upper(key).into_bytes(),
            ];
            for form in written.iter().filter(|form| !form.is_empty()) {
                assert_eq!(redacted_with(key, "x-a", &[b"key=", &form[..], b";"].concat()), REDACTED, "{key:?}");
            }
        }
    }

    /// B131: GitHub itself sent the secret in a header; who stored all headers stored the secret.
    #[test]
    fn a_secret_in_any_header_is_removed_before_it_is_written() {
        let key = b"ghsecret-0123456789";
        for value in
            [key.to_vec(), STANDARD.encode(key).into_bytes(), hex::encode(key).into_bytes(), [b"x=", &key[..]].concat()]
        {
            assert_eq!(redacted("x-any", &value), REDACTED);
        }
        assert_eq!(redacted("x-github-encoded-secret", b"whatever"), REDACTED);
        assert_eq!(redacted("authorization", b"Basic abc"), REDACTED);
        assert_eq!(redacted("x-github-event", b"push"), b"push");
        assert_eq!(redacted("x-hub-signature-256", b"sha256=00"), b"sha256=00");
    }
}
