//! `oncehook receipts show`: the whole story of one receipt.

use std::process::ExitCode;

use anyhow::Context as _;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sqlx::PgConnection;

use super::lookup::{Found, look_up};
use crate::{
    cli::{
        Globals, NOT_FOUND,
        database_access::OpenDatabase,
        output::{print, print_bytes, print_json},
        redaction::shown_headers,
        story_view::story_view,
        verdict::verdict,
        visible::Visible,
    },
    store::{
        self,
        receipt_list::ReceiptLine,
        receipt_story::{Payload, ReceiptStory, begin_reading, read_payload, tell_receipt_story},
    },
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The receipt (rcp_…), one of its deliveries (dlv_…), or the provider's own id: X-GitHub-Delivery, evt_…, webhook-id.
    #[arg(value_name = "RECEIPT|DELIVERY|DELIVERY-ID")]
    id: String,
    /// The source, where several have a receipt with this id of the provider's.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Writes the body as it came, byte for byte, and nothing else.
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

/// What was found under an id.
enum Shown {
    Story(Box<ReceiptStory>, Option<Payload>),
    Nothing,
    Several(Vec<ReceiptLine>),
}

#[derive(serde::Serialize)]
struct StoryJson<'a> {
    verdict: Vec<String>,
    #[serde(flatten)]
    story: &'a ReceiptStory,
    payload: Option<PayloadJson>,
}

/// The payload in JSON; values of headers that prove or open something are replaced.
#[derive(serde::Serialize)]
struct PayloadJson {
    headers: Vec<(String, String)>,
    /// The body as text, or base64 of it where it is not UTF-8.
    body: String,
    body_encoding: &'static str,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    show(&options.id, options.source.as_deref(), options.raw, globals).await
}

/// Tells the story behind an id of any kind. With `raw`: writes the body only.
///
/// # Errors
/// When the database cannot be asked.
pub async fn show(id: &str, source: Option<&str>, raw: bool, globals: &Globals) -> anyhow::Result<ExitCode> {
    let mut database = OpenDatabase::of(globals).await?;
    let shown = find(database.conn(), id, source).await;
    match database.close(shown).await? {
        Shown::Story(story, payload) if raw => {
            let payload = payload.with_context(|| format!("the payload of {} is no longer kept", story.facts.id))?;
            print_bytes(&payload.body)?;
            Ok(ExitCode::SUCCESS)
        }
        Shown::Story(story, payload) => {
            if globals.json {
                let payload = payload.as_ref().map(PayloadJson::of);
                print_json(&StoryJson { verdict: verdict(&story), story: &story, payload })?;
            } else {
                print(&story_view(&story, payload.as_ref()))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Shown::Nothing => {
            eprintln!("error: {}", nothing(id, source));
            Ok(ExitCode::from(NOT_FOUND))
        }
        Shown::Several(lines) => anyhow::bail!(several(id, &lines)),
    }
}

/// One picture of one moment: all is read in one transaction.
async fn find(conn: &mut PgConnection, id: &str, source: Option<&str>) -> store::Result<Shown> {
    let mut tx = begin_reading(conn).await?;
    let receipt = match look_up(&mut tx, id, source).await? {
        Found::Receipt(receipt) => receipt,
        Found::Nothing => return Ok(Shown::Nothing),
        Found::Several(lines) => return Ok(Shown::Several(lines)),
    };
    let Some(story) = tell_receipt_story(&mut tx, receipt).await? else { return Ok(Shown::Nothing) };
    let payload = read_payload(&mut tx, receipt).await?;
    tx.commit().await?;
    Ok(Shown::Story(Box::new(story), payload))
}

fn nothing(id: &str, source: Option<&str>) -> String {
    let of_source = source.map(|name| format!(" of source {}", Visible(name))).unwrap_or_default();
    format!(
        "there is no receipt{of_source} for \"{}\": give rcp_…, dlv_… or the provider's own id (\"oncehook receipts\" lists them); \
         an event that was refused has no receipt",
        Visible(id)
    )
}

fn several(id: &str, lines: &[ReceiptLine]) -> String {
    let list: Vec<_> = lines.iter().map(|line| format!("\n  {}  source {}", line.id, line.source)).collect();
    format!("{} receipts have the id \"{}\": show one of them{}", lines.len(), Visible(id), list.concat())
}

impl PayloadJson {
    fn of(payload: &Payload) -> Self {
        let (body, body_encoding) = match std::str::from_utf8(&payload.body) {
            Ok(text) => (text.to_owned(), "utf-8"),
            Err(_) => (BASE64_STANDARD.encode(&payload.body), "base64"),
        };
        Self { headers: shown_headers(&payload.headers), body, body_encoding }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn json_tells_the_story_in_the_words_of_the_design() {
        let story = sample::story();
        let payload = Payload { headers: [("cookie", "canary")].into_iter().collect(), body: vec![0xff] };
        let json = StoryJson { verdict: verdict(&story), story: &story, payload: Some(PayloadJson::of(&payload)) };
        let json = serde_json::to_value(&json).unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort_unstable();
            keys.join(" ")
        };
        insta::assert_snapshot!(keys(&json), @"body_bytes body_digest conflicts deliveries delivery_id event_time event_time_path event_type flags hook_id later_arrivals normalised_digest ordering_key payload receipt received_at recorded_at remote_address secret_fingerprint signed_at source verdict version");
        insta::assert_snapshot!(keys(&json["deliveries"][0]), @"ahead attempts blocked_by by_event crashes created_at delivery destination due_at finished_at last_error ordering_key purpose route stale state trigger");
        insta::assert_snapshot!(keys(&json["deliveries"][0]["attempts"][0]), @"answer_beginning answer_status attempt duration_ms number outcome reason started_at trigger worker");
        let payload = serde_json::json!({
            "headers": [["cookie", "(not shown, 6 bytes)"]], "body": "/w==", "body_encoding": "base64",
        });
        assert_eq!(json["payload"], payload);
    }

    #[test]
    fn json_explains_the_decisions_about_order() {
        let story = sample::stale_story();
        let json = StoryJson { verdict: verdict(&story), story: &story, payload: None };
        let json = serde_json::to_value(&json).unwrap();
        insta::assert_snapshot!(json["version"], @r#"{"scale":"repository.pushed_at","parts":[1767607198000000],"from":null,"to":"6dcb09b5b57875f334f61aebed695e2e4193db5e","chain_first":false,"in_words":"repository.pushed_at 2026-01-05 09:59:58, leads from nothing to 6dcb09b5b578"}"#);
        insta::assert_snapshot!(json["deliveries"][0]["stale"], @r#"{"against":"rcp_01ke6vafet00000000000000r2","why":"stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2"}"#);
    }

    #[test]
    fn an_id_without_a_receipt_is_answered_with_what_to_give() {
        insta::assert_snapshot!(nothing("evt_1\u{1b}[2J", Some("stripe")), @r#"there is no receipt of source stripe for "evt_1\u{1b}[2J": give rcp_…, dlv_… or the provider's own id ("oncehook receipts" lists them); an event that was refused has no receipt"#);
    }
}
