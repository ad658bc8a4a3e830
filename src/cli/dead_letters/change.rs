//! `oncehook dead-letters retry` and `discard`: one that is named at once; several that are named, or all that pass a filter, as a
//! bulk: counted first, agreed to, then worked off.

use std::{
    io::{BufRead as _, IsTerminal as _, Write as _},
    process::ExitCode,
};

use super::dead;
use crate::{
    cli::{
        Globals,
        access::{self, Access},
        bulks::{verb, watch},
        deliveries::Filter,
        failure::Failure,
        output::{print, print_json},
        reason::{Reason, print_changed},
        visible::Visible,
    },
    domain::DeliveryRef,
    operate::{BulkAction, BulkCount, BulkRequest},
};

/// The most that can be named one by one: a bulk takes no more.
const NAMED_MAX: usize = 1_000;

#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// These, one by one. Without any: all that pass the filters.
    #[arg(value_name = "DELIVERY", conflicts_with = "all")]
    deliveries: Vec<DeliveryRef>,
    #[command(flatten)]
    filter: Filter,
    /// All dead letters there are; needed where no filter is given.
    #[arg(long)]
    all: bool,
    /// Counts them and shows some of them; changes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Does not ask whether the number is right. Needed where there is no terminal to ask at.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    reason: Reason,
}

pub(super) async fn run(action: BulkAction, options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    if options.deliveries.is_empty() && options.filter.is_open() && !options.all {
        let problem = "name dead letters, give a filter (--route, --error, --group, …), or --all for all of them";
        return Err(Failure::usage(problem).into());
    }
    if options.deliveries.len() > NAMED_MAX {
        return Err(Failure::usage(format!("name at most {NAMED_MAX} at a time, or use a filter")).into());
    }
    access::with(globals, async |access| match options.deliveries.as_slice() {
        [only] if !options.dry_run && options.filter.is_open() => one(access, action, *only, &options, globals).await,
        _ => many(access, action, &options, globals).await,
    })
    .await
}

async fn one(
    access: &Access,
    action: BulkAction,
    delivery: DeliveryRef,
    options: &Options,
    globals: &Globals,
) -> anyhow::Result<ExitCode> {
    let reason = options.reason.text();
    let changed = match action {
        BulkAction::Discard => access.discard(delivery, reason).await?,
        _ => access.retry(delivery, reason).await?,
    };
    print_changed(&changed, globals)
}

async fn many(access: &Access, action: BulkAction, options: &Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let request = BulkRequest {
        action,
        filter: dead(&options.filter),
        only: options.deliveries.iter().map(ToString::to_string).collect(),
        expect: None,
        reason: options.reason.text().map(str::to_owned),
    };
    let counted = access.count_bulk(&request).await?;
    if options.dry_run {
        if globals.json {
            print_json(&counted)?
        } else {
            print(&dry_run_view(action, &counted))?
        }
        return Ok(ExitCode::SUCCESS);
    }
    if counted.count == 0 {
        if globals.json {
            print_json(&counted)?
        } else {
            print("no dead letters: nothing was done")?
        }
        return Ok(ExitCode::SUCCESS);
    }
    // Those that are named one by one are agreed to.
    if options.deliveries.is_empty() && !options.yes && !is_agreed(action, counted.count)? {
        eprintln!("nothing was done");
        return Ok(ExitCode::FAILURE);
    }
    let begun = access.begin_bulk(&BulkRequest { expect: Some(counted.count), ..request }).await?;
    watch(access, begun, globals).await
}

/// What would be done: `Would retry 3 dead letters`, and some of them.
fn dry_run_view(action: BulkAction, counted: &BulkCount) -> String {
    let mut lines = vec![format!("would {} {}; nothing was done", verb(action), letters(counted.count))];
    lines.extend(counted.samples.iter().map(|sample| format!("  {}", Visible(sample))));
    let shown = i64::try_from(counted.samples.len()).unwrap_or(i64::MAX);
    if shown > 0 && shown < counted.count {
        lines.push(format!("  … and {} more", counted.count - shown));
    }
    lines.join("\n")
}

/// Asks at the terminal, naming the number.
fn is_agreed(action: BulkAction, count: i64) -> anyhow::Result<bool> {
    let (verb, letters) = (verb(action), letters(count));
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let problem = format!(
            "this would {verb} {letters}, and there is no terminal to ask at: add --yes, or --dry-run to see some"
        );
        return Err(Failure::usage(problem).into());
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{verb} {letters}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn letters(count: i64) -> String {
    format!("{count} {}", if count == 1 { "dead letter" } else { "dead letters" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{sample, visible::HOSTILE};

    #[test]
    fn a_dry_run_names_the_number_and_some_of_them() {
        let samples = vec![sample::delivery_ref().to_string(); 2];
        insta::assert_snapshot!(dry_run_view(BulkAction::Discard, &BulkCount { count: 1_000, samples }), @"
        would discard 1000 dead letters; nothing was done
          dlv_01ke6vafet00000000000000d1
          dlv_01ke6vafet00000000000000d1
          … and 998 more
        ");
        let none = BulkCount { count: 0, samples: vec![] };
        assert_eq!(dry_run_view(BulkAction::Retry, &none), "would retry 0 dead letters; nothing was done");
        for text in HOSTILE {
            let shown = dry_run_view(BulkAction::Retry, &BulkCount { count: 1, samples: vec![(*text).to_owned()] });
            let shown = shown.replace('\n', "");
            assert_eq!(Visible(&shown).to_string(), shown);
        }
    }
}
