//! What an appliance elsewhere says when it does not do what it was asked (RFC 9457 problems), as errors with their exit codes; and
//! what to think of an answer that is not one of Oncehook's at all. Pure.

use reqwest::StatusCode;

use crate::cli::{
    failure::{Failure, NOT_ALLOWED},
    visible::{VisibleBytes, cut},
};

/// Letters of a foreign answer that are quoted.
const QUOTED_LETTERS_MAX: usize = 120;

/// The API refuses, since of what was asked for nothing is left or it stands where this cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Gone(String);

/// A refusal.
pub(super) enum Told {
    /// By the API, in its own words.
    Problem(anyhow::Error),
    /// By something else: an older Oncehook, a proxy, another program.
    Foreign(String),
}

#[derive(serde::Deserialize)]
struct Problem {
    #[serde(rename = "type", default)]
    kind: String,
    title: String,
    detail: Option<String>,
}

/// What a status other than 2xx means.
pub(super) fn told(status: StatusCode, body: &[u8]) -> Told {
    let Ok(Problem { kind, title, detail }) = serde_json::from_slice(body) else {
        return Told::Foreign(foreign(status, body));
    };
    if is(&kind, "no-such-path") {
        return Told::Foreign("is not there, on a port that is Oncehook's".to_owned());
    }
    let said = detail.unwrap_or(title);
    Told::Problem(match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Failure::usage(said).into(),
        StatusCode::UNAUTHORIZED => Failure::new(
            NOT_ALLOWED,
            format!("not allowed: {said} (give a token: --token-file PATH or ONCEHOOK_TOKEN)"),
        )
        .into(),
        StatusCode::FORBIDDEN => Failure::new(NOT_ALLOWED, format!("not allowed: {said}")).into(),
        StatusCode::NOT_FOUND => Failure::not_found(said).into(),
        StatusCode::CONFLICT | StatusCode::GONE => Gone(said).into(),
        _ => anyhow::anyhow!(said),
    })
}

/// Whether an answer says "not now": the same request may be answered otherwise a moment later.
pub(super) fn is_for_now(status: StatusCode, body: &[u8]) -> bool {
    match status {
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => true,
        // The first try of an order, whose answer was lost, is still being worked on.
        StatusCode::CONFLICT => {
            serde_json::from_slice::<Problem>(body).is_ok_and(|problem| is(&problem.kind, "still-running"))
        }
        _ => false,
    }
}

fn is(kind: &str, slug: &str) -> bool {
    kind.rsplit(':').next() == Some(slug)
}

fn foreign(status: StatusCode, body: &[u8]) -> String {
    let first_line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let quoted = cut(&VisibleBytes(&first_line[..first_line.len().min(1_000)]).to_string(), QUOTED_LETTERS_MAX);
    let quoted = if quoted.trim().is_empty() { String::new() } else { format!(" ({})", quoted.trim()) };
    match status {
        status if status.is_redirection() => {
            format!("answered {status}: redirects are not followed, give the address that it leads to")
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("answered {status}{quoted}: something in front of Oncehook wants to know who asks")
        }
        _ => format!("answered {status}{quoted}, and not as Oncehook's API does"),
    }
}

/// The version of an API, out of its description.
pub(super) fn version_of(openapi: &[u8]) -> Option<String> {
    let description: serde_json::Value = serde_json::from_slice(openapi).ok()?;
    let version = description["info"]["version"].as_str()?;
    Some(cut(&VisibleBytes(version.as_bytes()).to_string(), 40))
}

/// What to think of a misunderstanding, given the version of the other side if it has one.
pub(super) fn version_hint(theirs: Option<&str>) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    match theirs {
        None => format!(
            ". It tells no version: is --url the operator's port (8081, not the one for webhooks) of an Oncehook that is not much older \
             than this one, {ours}?"
        ),
        Some(same) if same == ours => {
            ". It has the same version as this program: this is a defect, please report it".to_owned()
        }
        Some(theirs) => format!(". It runs Oncehook {theirs}, this is {ours}: use a command line of its version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::failure::exit_code;

    #[test]
    fn each_refusal_has_its_exit_code_and_says_what_the_server_says() {
        let body = br#"{"type":"about:blank","title":"Nope","status":1,"detail":"there is no receipt \"x\""}"#;
        for (status, code) in [(400, 2), (422, 2), (401, 5), (403, 5), (404, 4), (409, 1), (500, 1), (503, 1)] {
            let Told::Problem(error) = told(StatusCode::from_u16(status).unwrap(), body) else { panic!("{status}") };
            assert_eq!(exit_code(&error), code, "{status}");
            assert!(error.to_string().contains("there is no receipt \"x\""), "{error}");
        }
    }

    #[test]
    fn only_what_may_change_by_itself_is_asked_again() {
        let running = br#"{"type":"urn:oncehook:problem:still-running","title":"Still running"}"#;
        let refused = br#"{"type":"urn:oncehook:problem:refused","title":"Refused"}"#;
        for (status, body, again) in [
            (503, &refused[..], true),
            (502, b"x", true),
            (409, running, true),
            (409, refused, false),
            (404, b"", false),
            (500, b"", false),
            (429, b"", false),
        ] {
            assert_eq!(is_for_now(StatusCode::from_u16(status).unwrap(), body), again, "{status}");
        }
    }

    #[test]
    fn an_answer_of_something_else_is_told_safely() {
        let said = |status: u16, body: &str| match told(StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
            Told::Foreign(what) => what,
            Told::Problem(error) => panic!("{error}"),
        };
        insta::assert_snapshot!(said(404, "<html>\u{1b}[2J\nmore"), @r"answered 404 Not Found (<html>\u{1b}[2J), and not as Oncehook's API does");
        let no_path = r#"{"type":"urn:oncehook:problem:no-such-path","title":"Not found","detail":"x"}"#;
        insta::assert_snapshot!(said(404, no_path), @"is not there, on a port that is Oncehook's");
        insta::assert_snapshot!(said(302, ""), @"answered 302 Found: redirects are not followed, give the address that it leads to");
        insta::assert_snapshot!(said(401, "{}"), @"answered 401 Unauthorized ({}): something in front of Oncehook wants to know who asks");
    }

    #[test]
    fn an_older_or_newer_server_is_told() {
        let openapi = br#"{"openapi":"3.1.0","info":{"title":"x","version":"9.0.0\u001b"}}"#;
        assert_eq!(version_of(openapi).unwrap(), r"9.0.0\u{1b}");
        assert!(version_hint(Some("9.0.0")).contains("It runs Oncehook 9.0.0, this is "));
        assert!(version_hint(None).contains("operator's port"));
        assert!(version_hint(Some(env!("CARGO_PKG_VERSION"))).contains("defect"));
    }
}
