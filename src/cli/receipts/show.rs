//! `oncehook receipts show`: the whole story of one receipt.

use std::process::ExitCode;

use anyhow::Context as _;

use crate::{
    cli::{
        Globals,
        access::{self, Access},
        failure::{Failure, NOT_FOUND, exit_code},
        output::{print, print_bytes, print_json},
        payload_text::body_of,
        story_view::story_view,
        verdict::verdict,
        visible::Visible,
    },
    domain::ReceiptId,
    operate::{Found, PayloadText},
    store::{receipt_list::ReceiptLine, receipt_story::ReceiptStory},
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

#[derive(serde::Serialize)]
struct StoryJson<'a> {
    verdict: Vec<String>,
    #[serde(flatten)]
    story: &'a ReceiptStory,
    payload: Option<&'a PayloadText>,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    show(&options.id, options.source.as_deref(), options.raw, globals).await
}

/// Tells the story behind an id of any kind. With `raw`: writes the body only.
///
/// # Errors
/// When there is none, or it cannot be asked for.
pub async fn show(id: &str, source: Option<&str>, raw: bool, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let receipt = one_receipt(access, id, source).await?;
        let story = access.receipt(receipt).await.map_err(|error| better(error, id, source))?;
        let payload = access.payload(receipt).await?;
        if raw {
            let payload = payload.with_context(|| format!("the payload of {receipt} is no longer kept"))?;
            print_bytes(&body_of(&payload)?)?;
        } else if globals.json {
            print_json(&StoryJson { verdict: verdict(&story), story: &story, payload: payload.as_ref() })?;
        } else {
            print(&story_view(&story, payload.as_ref(), globals.palette()))?;
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

/// The one receipt behind an id of any kind.
///
/// # Errors
/// When there is none or several, or it cannot be asked for.
pub async fn one_receipt(access: &Access, id: &str, source: Option<&str>) -> anyhow::Result<ReceiptId> {
    match access.look_up(id, source).await? {
        Found::Receipt(receipt) => Ok(receipt),
        Found::Nothing => Err(Failure::not_found(nothing(id, source)).into()),
        Found::Several(lines) => anyhow::bail!(several(id, &lines)),
    }
}

/// That there is no such receipt, with what to give instead.
fn better(error: anyhow::Error, id: &str, source: Option<&str>) -> anyhow::Error {
    if exit_code(&error) == NOT_FOUND { Failure::not_found(nothing(id, source)).into() } else { error }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{payload_text::payload_text, sample},
        store::receipt_story::Payload,
    };

    #[test]
    fn json_tells_the_story_in_the_words_of_the_design() {
        let story = sample::story();
        let payload = Payload { headers: [("cookie", "canary")].into_iter().collect(), body: vec![0xff] };
        let json = StoryJson { verdict: verdict(&story), story: &story, payload: Some(&payload_text(&payload)) };
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
            "headers": [["cookie", "(not shown, 6 bytes)"]], "text": null, "base64": "/w==", "bytes": 1,
        });
        assert_eq!(json["payload"], payload);
    }

    #[test]
    fn json_explains_the_decisions_about_order() {
        let story = sample::stale_story();
        let json = StoryJson { verdict: verdict(&story), story: &story, payload: None };
        let json = serde_json::to_value(&json).unwrap();
        insta::assert_snapshot!(json["version"], @r#"{"scale":"repository.pushed_at","parts":[1767607198000000],"from":null,"to":"6dcb09b5b57875f334f61aebed695e2e4193db5e","chain_first":true,"in_words":"repository.pushed_at 2026-01-05 09:59:58, leads from nothing to 6dcb09b5b578"}"#);
        insta::assert_snapshot!(json["deliveries"][0]["stale"], @r#"{"against":"rcp_01ke6vafet00000000000000r2","why":"stale: repository.pushed_at 09:59:58 is older than 10:00:00 applied by rcp_01ke6vafet00000000000000r2"}"#);
    }

    #[test]
    fn an_id_without_a_receipt_is_answered_with_what_to_give() {
        insta::assert_snapshot!(nothing("evt_1\u{1b}[2J", Some("stripe")), @r#"there is no receipt of source stripe for "evt_1\u{1b}[2J": give rcp_…, dlv_… or the provider's own id ("oncehook receipts" lists them); an event that was refused has no receipt"#);
    }
}
