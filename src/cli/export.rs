//! `oncehook export`: writes a receipt as a fixture, without signatures and secrets; on request without persons and tokens too.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;

use super::{
    Globals,
    access::{self, Access},
    output::{count, print_bytes},
    payload_text::body_of,
    receipts::one_receipt,
    visible::{Visible, cut},
};
use crate::{
    domain::{DeliveryState, Headers},
    fixture::{Fixture, expect::Expectations},
    operate::PayloadText,
    store::receipt_story::ReceiptStory,
};

/// Places with tokens that are told one by one.
const TOLD_MAX: usize = 10;

/// Writes a receipt as a fixture, which "oncehook send" and "oncehook replay" take.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The receipt (rcp_…), one of its deliveries (dlv_…), or the provider's own id.
    #[arg(value_name = "RECEIPT|DELIVERY|DELIVERY-ID")]
    id: String,
    /// The source, where several have a receipt with this id of the provider's.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Puts pseudonyms in place of persons: names, logins, e-mail addresses, pictures, IP addresses. The same person is always the
    /// same. Works on JSON and forms; changes the body.
    #[arg(long)]
    mask_personal: bool,
    /// Blots out what looks like a token or key in the body, to the letter. Without it the body stays, and it says what it saw.
    #[arg(long)]
    redact_body: bool,
    /// Writes into this file instead of standard output, such as fixtures/github/push.http.
    #[arg(long, value_name = "FILE.http")]
    out: Option<PathBuf>,
    /// Writes what became of the receipt beside it, as FILE.expect.toml, for "oncehook replay --expect".
    #[arg(long, requires = "out")]
    expect: bool,
    /// Overwrites a file that is there.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// When there is no such receipt, its payload is no longer kept or cannot be masked, or the file is there already.
pub async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let (story, payload) = access::with(globals, async |access| fetch(access, options).await).await?;
    let (fixture, notes) = make(&payload, options).with_context(|| format!("failed to export {}", story.facts.id))?;
    let file = fixture.to_file()?;
    match &options.out {
        None => print_bytes(&file)?,
        Some(path) => {
            write(path, &file, options.force)?;
            eprintln!(
                "wrote {}: {}, {} of them the body",
                path.display(),
                count(file.len(), "byte", "bytes"),
                fixture.body.len()
            );
            if options.expect {
                let path = expectations_beside(path);
                write(&path, expectations_of(&story).to_toml().as_bytes(), options.force)?;
                eprintln!("wrote {}: change it to what you expect", path.display());
            }
        }
    }
    for note in notes {
        eprintln!("note: {}", Visible(&note));
    }
    Ok(ExitCode::SUCCESS)
}

/// The one place that asks for what is exported.
async fn fetch(access: &Access, options: &Options) -> anyhow::Result<(ReceiptStory, PayloadText)> {
    let receipt = one_receipt(access, &options.id, options.source.as_deref()).await?;
    let story = access.receipt(receipt).await?;
    let payload = access.payload(receipt).await?;
    Ok((story, payload.with_context(|| format!("the payload of {receipt} is no longer kept"))?))
}

/// The fixture, and what was done to it.
fn make(payload: &PayloadText, options: &Options) -> anyhow::Result<(Fixture, Vec<String>)> {
    let mut notes = Vec::new();
    let headers: Headers = payload.headers.iter().map(|(name, value)| (name, value.as_bytes())).collect();
    let (fixture, left_out) = Fixture::of_recorded(&headers, body_of(payload)?);
    if !left_out.is_empty() {
        notes.push(format!("left out, made anew when it is sent or secret: {}", left_out.join(", ")));
    }
    let (mut fixture, tokens) = fixture.without_tokens(options.redact_body);
    if !tokens.is_empty() {
        let mut told: Vec<_> = tokens.iter().take(TOLD_MAX).map(|place| cut(place, 120)).collect();
        if tokens.len() > TOLD_MAX {
            told.push(format!("{} more", tokens.len() - TOLD_MAX));
        }
        let what =
            if options.redact_body { "blotted out" } else { "looks secret (in the body --redact-body blots it out)" };
        notes.push(format!("{what}: {}", told.join("; ")));
    }
    if options.mask_personal {
        let (masked, changes) = fixture.masked().context("--mask-personal")?;
        fixture = masked;
        notes.push(format!(
            "masked persons in {}; look yourself whether that is all",
            count(changes, "place", "places")
        ));
    }
    Ok((fixture, notes))
}

fn write(path: &Path, file: &[u8], may_overwrite: bool) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if may_overwrite {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let opened = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{} is there already: --force overwrites it", path.display())
        }
        _ => anyhow::Error::new(error).context(format!("failed to write {}", path.display())),
    });
    opened?.write_all(file).with_context(|| format!("failed to write {}", path.display()))
}

/// `x.expect.toml` for `x.http`.
pub fn expectations_beside(path: &Path) -> PathBuf {
    path.with_extension("expect.toml")
}

/// What became of a receipt, as what is expected the next time.
fn expectations_of(story: &ReceiptStory) -> Expectations {
    let states: Vec<DeliveryState> = story.deliveries.iter().map(|delivery| delivery.state).collect();
    let common = states.first().filter(|first| first.is_finished() && states.iter().all(|state| state == *first));
    Expectations {
        status: Some(200),
        answer: Some("accepted".to_owned()),
        event_type: Some(story.facts.event_type.clone()),
        ordering_key: story.facts.ordering_key.clone(),
        deliveries: Some(states.len()),
        final_state: common.copied(),
        ..Expectations::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn what_became_of_a_receipt_can_be_expected_the_next_time() {
        let expectations = expectations_of(&sample::story());
        let text = expectations.to_toml();
        assert_eq!(Expectations::read(&text).unwrap(), expectations);
        insta::assert_snapshot!(text, @r#"
        status = 200
        answer = "accepted"
        event_type = "push"
        ordering_key = "ref/200000001/refs/heads/main"
        deliveries = 1
        final_state = "succeeded"
        "#);
        assert_eq!(
            expectations_beside(Path::new("a/pull_request.opened.http")),
            Path::new("a/pull_request.opened.expect.toml")
        );
    }
}
