//! `oncehook receipts why`: which secret matched, and what each route says to a receipt.

use std::process::ExitCode;

use super::one_receipt;
use crate::{
    cli::{
        Globals, access,
        colour::{Paint, Palette},
        output::{print, print_json},
        visible::Visible,
    },
    operate::Why,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The receipt (rcp_…), one of its deliveries (dlv_…), or the provider's own id.
    #[arg(value_name = "RECEIPT|DELIVERY|DELIVERY-ID")]
    id: String,
    /// The source, where several have a receipt with this id of the provider's.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let receipt = one_receipt(access, &options.id, options.source.as_deref()).await?;
        let why = access.why(receipt).await?;
        if globals.json {
            print_json(&why)?
        } else {
            print(&view(&why, globals.palette()))?
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

fn view(why: &Why, palette: Palette) -> String {
    let mut lines = vec![palette.paint(Paint::Strong, &format!("receipt {}", why.receipt)), String::new()];
    lines.push(format!("  {}", Visible(&why.verified)));
    lines.extend(why.identified.iter().map(|sentence| format!("  {}", Visible(sentence))));
    lines.extend(
        why.remarks
            .iter()
            .map(|sentence| format!("  {}", palette.paint(Paint::Waiting, &Visible(sentence).to_string()))),
    );
    lines.extend([String::new(), "routes, as they are now".to_owned()]);
    if why.routes.is_empty() {
        lines.push("  none takes from this source".to_owned());
    }
    for route in &why.routes {
        let verdict = if route.matches {
            palette.paint(Paint::Good, "matches")
        } else {
            palette.paint(Paint::Faint, "does not match")
        };
        lines.push(format!("  {} {verdict}: {}", Visible(&route.route), Visible(&route.why)));
        match (&route.delivery, &route.standing) {
            (Some(delivery), Some(standing)) => lines.push(format!("    {delivery}: {}", Visible(standing))),
            (Some(delivery), None) => lines.push(format!("    {delivery}")),
            (None, _) if route.matches => {
                lines.push("    no delivery: \"oncehook receipts replay\" plans one".to_owned())
            }
            (None, _) => {}
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{sample, visible::HOSTILE},
        operate::RouteVerdict,
    };

    fn why(text: &str) -> Why {
        let verdict = |matches, delivery: bool| RouteVerdict {
            route: "deploy".to_owned(),
            matches,
            why: format!("the filter says no{text}"),
            delivery: delivery.then(sample::delivery_ref),
            standing: delivery.then(|| format!("waits behind 2 others{text}")),
        };
        Why {
            receipt: sample::receipt_id(),
            verified: format!("The secret 5eed5eed matched, which is configured.{text}"),
            identified: vec![format!("The delivery id stands in X-GitHub-Delivery.{text}")],
            routes: vec![verdict(true, true), verdict(true, false), verdict(false, false)],
            remarks: vec![format!("It is held.{text}")],
        }
    }

    #[test]
    fn the_reasons_are_told_one_a_line() {
        insta::assert_snapshot!(view(&why(""), Palette::plain()), @r#"
        receipt rcp_01ke6vafet00000000000000r1

          The secret 5eed5eed matched, which is configured.
          The delivery id stands in X-GitHub-Delivery.
          It is held.

        routes, as they are now
          deploy matches: the filter says no
            dlv_01ke6vafet00000000000000d1: waits behind 2 others
          deploy matches: the filter says no
            no delivery: "oncehook receipts replay" plans one
          deploy does not match: the filter says no
        "#);
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&why(text), Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
