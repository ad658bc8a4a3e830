//! The head of a request: header lines within limits, secrets removed, the peer's address.

use actix_web::{HttpRequest, http::header::CONTENT_LENGTH};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};

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
        let forms: Vec<Vec<u8>> = secrets
            .iter()
            .flat_map(|secret| {
                let key = secret.expose();
                [key.to_vec(), STANDARD.encode(key).into_bytes(), hex::encode(key).into_bytes()]
            })
            .collect();
        let holds_secret = |value: &[u8]| forms.iter().any(|form| value.windows(form.len()).any(|part| part == form));
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

/// What `Content-Length` says, where it is a number; the HTTP library refuses the rest.
fn announced_bytes(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(name: &str, value: &[u8]) -> Vec<u8> {
        let secret = Secret::new(b"ghsecret-0123456789".to_vec());
        let headers = [(name, value)].into_iter().collect();
        let mut incoming = Incoming { headers, remote_address: None, received_at: DateTime::UNIX_EPOCH };
        incoming.redact(&[secret]);
        incoming.headers.only(name).unwrap().to_vec()
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
