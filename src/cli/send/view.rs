//! One request and its answer, as text for people and as JSON. Pure.

use std::time::Duration;

use super::{letter::SealedLetter, post::Answer};
use crate::{cli::payload_view::payload_lines, domain::ReceiptId};

/// A request and its answer.
pub(super) struct Exchange<'a> {
    pub(super) url: &'a url::Url,
    pub(super) letter: &'a SealedLetter,
    pub(super) answer: &'a Answer,
    pub(super) took: Duration,
}

/// The same in JSON.
#[derive(serde::Serialize)]
pub(super) struct ExchangeJson {
    url: String,
    delivery_id: String,
    body_bytes: usize,
    took_ms: u128,
    status: u16,
    /// The body of the answer: JSON where it is, text otherwise.
    answer: serde_json::Value,
}

impl Exchange<'_> {
    /// For people: what was sent, what was answered, what to do next.
    pub(super) fn view(&self) -> String {
        let mut lines = vec![
            format!("POST {}", self.url),
            format!("  delivery id {}, {} bytes", self.letter.delivery_id, self.letter.body.len()),
            String::new(),
            format!("answered {} in {} ms", self.answer.status, self.took.as_millis()),
        ];
        lines.extend(payload_lines(&self.answer.body).into_iter().map(|line| format!("  {line}")));
        // Whoever answered may not be Oncehook: only what looks like an id is repeated as a command.
        let receipt = self.answer.text("receipt").and_then(|text| text.parse::<ReceiptId>().ok());
        if let Some(receipt) = receipt {
            lines.push(String::new());
            lines.push(format!("its story: oncehook receipts show {receipt}"));
        }
        lines.join("\n")
    }

    /// For scripts.
    pub(super) fn json(&self) -> ExchangeJson {
        let text = || String::from_utf8_lossy(&self.answer.body).into_owned().into();
        ExchangeJson {
            url: self.url.to_string(),
            delivery_id: self.letter.delivery_id.clone(),
            body_bytes: self.letter.body.len(),
            took_ms: self.took.as_millis(),
            status: self.answer.status,
            answer: serde_json::from_slice(&self.answer.body).unwrap_or_else(|_| text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Headers;

    fn exchange(answer: &[u8]) -> (String, String) {
        let letter = SealedLetter { delivery_id: "evt_1".to_owned(), headers: Headers::new(), body: b"{}"[..].into() };
        let answer = Answer { status: 200, body: answer.to_vec() };
        let url = url::Url::parse("http://127.0.0.1:8080/hooks/stripe").unwrap();
        let exchange = Exchange { url: &url, letter: &letter, answer: &answer, took: Duration::from_millis(4) };
        (exchange.view(), serde_json::to_string_pretty(&exchange.json()).unwrap())
    }

    #[test]
    fn an_answer_is_shown_with_what_to_do_next() {
        let (view, json) = exchange(br#"{"status":"accepted","receipt":"rcp_01ke6vafet00000000000000r1"}"#);
        insta::assert_snapshot!(view, @r#"
        POST http://127.0.0.1:8080/hooks/stripe
          delivery id evt_1, 2 bytes

        answered 200 in 4 ms
          {
            "status": "accepted",
            "receipt": "rcp_01ke6vafet00000000000000r1"
          }

        its story: oncehook receipts show rcp_01ke6vafet00000000000000r1
        "#);
        insta::assert_snapshot!(json, @r#"
        {
          "url": "http://127.0.0.1:8080/hooks/stripe",
          "delivery_id": "evt_1",
          "body_bytes": 2,
          "took_ms": 4,
          "status": 200,
          "answer": {
            "status": "accepted",
            "receipt": "rcp_01ke6vafet00000000000000r1"
          }
        }
        "#);
    }

    #[test]
    fn an_answer_of_a_stranger_is_shown_safely() {
        let (view, _) = exchange(b"{\"receipt\":\"rcp_; rm -rf /\",\"x\":\"\x7f\"}\x1b[2J");
        assert!(!view.contains("receipts show") && !view.contains('\u{7f}') && !view.contains('\u{1b}'), "{view}");
    }
}
