//! `oncehook receipts replay` and `oncehook release`: a receipt runs again, or at last.

use std::process::ExitCode;

use super::one_receipt;
use crate::{
    cli::{
        Globals, access,
        colour::Palette,
        output::{print, print_json},
        reason::Reason,
        visible::Visible,
    },
    domain::RouteName,
    operate::Replayed,
};

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// The receipt (rcp_…), one of its deliveries (dlv_…), or the provider's own id.
    #[arg(value_name = "RECEIPT|DELIVERY|DELIVERY-ID")]
    id: String,
    /// The source, where several have a receipt with this id of the provider's.
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Only this route; it gets a delivery even if it does not match.
    #[arg(long, value_name = "NAME")]
    route: Option<RouteName>,
    #[command(flatten)]
    reason: Reason,
}

pub(super) async fn run(options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let receipt = one_receipt(access, &options.id, options.source.as_deref()).await?;
        let replayed = access.replay(receipt, options.route.as_ref(), options.reason.text()).await?;
        print_replayed(&replayed, globals)
    })
    .await
}

/// Lets a receipt go on its way that `replay_guard = "hold"` holds.
///
/// # Errors
/// When it is not held, or not there.
pub async fn release(id: &str, reason: &Reason, globals: &Globals) -> anyhow::Result<ExitCode> {
    access::with(globals, async |access| {
        let receipt = one_receipt(access, id, None).await?;
        print_replayed(&access.release(receipt, reason.text()).await?, globals)
    })
    .await
}

/// Writes what a replay, a release or a promotion came to.
///
/// # Errors
/// When standard output takes no more.
pub fn print_replayed(replayed: &Replayed, globals: &Globals) -> anyhow::Result<ExitCode> {
    if globals.json {
        print_json(replayed)?
    } else {
        print(&view(replayed, globals.palette()))?
    }
    Ok(ExitCode::SUCCESS)
}

fn view(replayed: &Replayed, palette: Palette) -> String {
    let mut lines = vec![format!("receipt {}", replayed.receipt)];
    if replayed.deliveries.is_empty() {
        lines.push("  no route asks for it: nothing runs".to_owned());
    }
    lines.extend(replayed.deliveries.iter().map(|delivery| {
        let (route, done) = (Visible(&delivery.route), Visible(&delivery.done));
        format!("  {}  {route}  {done}, {}", delivery.delivery, palette.state(delivery.state))
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{sample, visible::HOSTILE},
        domain::DeliveryState,
        operate::ReplayedDelivery,
    };

    fn replayed(text: &str) -> Replayed {
        let delivery = |done: &str, state| ReplayedDelivery {
            delivery: sample::delivery_ref(),
            route: format!("deploy{text}"),
            state,
            done: format!("{done}{text}"),
        };
        let deliveries = vec![delivery("revived", DeliveryState::Queued), delivery("left", DeliveryState::Running)];
        Replayed { receipt: sample::receipt_id(), deliveries }
    }

    #[test]
    fn a_replay_says_what_became_of_each_delivery() {
        insta::assert_snapshot!(view(&replayed(""), Palette::plain()), @"
        receipt rcp_01ke6vafet00000000000000r1
          dlv_01ke6vafet00000000000000d1  deploy  revived, queued
          dlv_01ke6vafet00000000000000d1  deploy  left, running
        ");
        let none = Replayed { deliveries: vec![], ..replayed("") };
        assert!(view(&none, Palette::plain()).contains("nothing runs"));
    }

    #[test]
    fn nothing_hostile_reaches_the_terminal() {
        for text in HOSTILE {
            let shown = view(&replayed(text), Palette::plain()).replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown, "for {text:?}");
        }
    }
}
