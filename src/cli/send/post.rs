//! Posts one sealed letter and gives the answer. One request, no retry, no redirect.

use reqwest::Client;

use super::letter::SealedLetter;
use crate::cli::{
    http_client::{causes, read_answer},
    visible::{Visible, cut},
};

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Answer {
    pub(in crate::cli) status: u16,
    /// The beginning of the body.
    pub(in crate::cli) body: Vec<u8>,
}

impl Answer {
    /// Whether the sender would be content.
    pub(in crate::cli) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The status and what the body says: its `status` where that is a word, else its `title`.
    pub(in crate::cli) fn label(&self) -> String {
        let word = self.text("status").or_else(|| self.text("title")).unwrap_or_default();
        format!("{} {}", self.status, Visible(&cut(&word, 60))).trim_end().to_owned()
    }

    /// What the answer says in a word: its `status` where that is one, else the last part of a problem's `type`.
    pub(in crate::cli) fn word(&self) -> Option<String> {
        let last_part = |kind: String| kind.rsplit([':', '/']).next().map(str::to_owned);
        self.text("status").or_else(|| self.text("type").and_then(last_part))
    }

    /// A member of the body that is a string.
    pub(in crate::cli) fn text(&self, name: &str) -> Option<String> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        Some(body.get(name)?.as_str()?.to_owned())
    }
}

/// Posts a letter.
///
/// # Errors
/// When no whole answer came: why, in the system's own words.
pub(in crate::cli) async fn post(client: &Client, url: &url::Url, letter: &SealedLetter) -> Result<Answer, String> {
    let mut request = client.post(url.clone()).body(letter.body.clone());
    for (name, value) in letter.headers.iter() {
        request = request.header(name, value);
    }
    let response = request.send().await.map_err(|error| causes(&error))?;
    let status = response.status().as_u16();
    let body = read_answer(response).await.map_err(|error| causes(&error))?;
    Ok(Answer { status, body })
}
