//! Bodies as GitHub would write them, and bodies that nobody ought to send. Pure: takes numbers, gives bytes.

use rand::{RngExt as _, rngs::StdRng};
use serde_json::json;

/// What an event of the load is about, and where in its subject's history it stands.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The issue, or the repository.
    pub subject: u64,
    /// The how manieth event of its subject.
    pub seq: u64,
    /// When it happened, in seconds since 1970.
    pub time: i64,
}

/// A subject's ordering key, as docs/providers.md says it is. Even subjects are issues, odd ones branches.
pub fn key_of(subject: u64) -> String {
    if subject.is_multiple_of(2) { format!("issue/{subject}") } else { format!("ref/{subject}/refs/heads/main") }
}

/// The value of `X-GitHub-Event`.
pub fn event_of(subject: u64) -> &'static str {
    if subject.is_multiple_of(2) { "issues" } else { "push" }
}

/// A body of one to two kilobytes. `note` makes two bodies of one moment differ.
pub fn body_of(moment: Moment, note: &str, rng: &mut StdRng) -> Vec<u8> {
    let Moment { subject, seq, time } = moment;
    let filler: String = (0..rng.random_range(500..1_500)).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
    let at = chrono::DateTime::from_timestamp(time, 0).map(|at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
    let body = if subject.is_multiple_of(2) {
        json!({
            "action": if seq == 1 { "opened" } else { "edited" },
            "issue": { "id": subject, "number": subject, "title": note, "updated_at": at, "body": filler },
            "repository": { "id": 4_000_000 + subject, "full_name": "drill/issues" },
            "sender": { "id": 1, "login": "drill" },
        })
    } else {
        json!({
            "ref": "refs/heads/main",
            "before": format!("{:040x}", seq - 1),
            "after": format!("{seq:040x}"),
            "repository": { "id": subject, "full_name": "drill/pushes", "pushed_at": time },
            "commits": [{ "message": note, "body": filler }],
            "sender": { "id": 1, "login": "drill" },
        })
    };
    body.to_string().into_bytes()
}

/// The kinds of hostile bodies.
pub const HOSTILE: [&str; 10] = [
    "nul_escape",
    "lone_surrogate",
    "deep_nesting",
    "huge_number",
    "invalid_utf8",
    "duplicate_members",
    "not_json",
    "empty_object",
    "nul_bytes",
    "long_key",
];

/// A hostile body. `note` makes each its own.
pub fn hostile_body(kind: &str, note: &str) -> Vec<u8> {
    let text = match kind {
        "nul_escape" => format!(r#"{{"action":"opened","issue":{{"id":"\u0000{note}"}},"x":"\u0000"}}"#),
        "lone_surrogate" => format!(r#"{{"action":"\ud83d","issue":{{"id":"{note}"}}}}"#),
        "deep_nesting" => format!(r#"{{"n":"{note}","deep":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000)),
        "huge_number" => format!(r#"{{"n":"{note}","issue":{{"id":1e200000}},"x":1e131071}}"#),
        "duplicate_members" => format!(r#"{{"n":"{note}","issue":{{"id":1}},"issue":{{"id":2}}}}"#),
        "empty_object" => format!("{{{}}}", " ".repeat(note.len())),
        "long_key" => format!(r#"{{"n":"{note}","issue":{{"id":"{}"}}}}"#, "k".repeat(5_000)),
        "nul_bytes" => format!("\0\0\0{note}"),
        _ => format!("this is not JSON: {note}"),
    };
    let mut body = text.into_bytes();
    if kind == "invalid_utf8" {
        body = [b"{\"action\":\"H\xeb\xff\xfe\",\"n\":\"", note.as_bytes(), b"\"}"].concat();
    }
    body
}
