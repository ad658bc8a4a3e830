//! `oncehook drill`: proves the promises on this machine, under faults. And what it starts: `drill-sink`, hidden.

mod view;

use std::process::ExitCode;

use anyhow::Context as _;

use super::{
    Globals,
    output::{print, print_json},
};
use crate::{
    drill::{self, Order, Profile, Progress, sink},
    shutdown,
};

/// Proves the promises on this machine: plays scenes, then sends a random load while it kills workers, receivers and
/// PostgreSQL, and checks that nothing was lost, doubled or out of order.
///
/// It starts everything by itself, in a folder for temporary files, and leaves nothing behind when all held. Ends with PASS
/// and exit code 0, or FAIL and 1. The configuration, and the database that it names, are not touched.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// How long events are sent and faults injected. Default: 2.5 (quick), 30 (release).
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    minutes: Option<f64>,
    /// Draws the same plans again. Default: by chance, and told.
    #[arg(long)]
    seed: Option<u64>,
    /// How large and how hard.
    #[arg(long, default_value = "quick")]
    profile: Profile,
    /// Keeps the folder with journals and logs after a PASS too.
    #[arg(long)]
    keep: bool,
    /// Switches a safety off, to see that the drill notices: a short load without scenes, that ends with CAUGHT and exit code 0,
    /// or MISSED and 1.
    #[cfg(feature = "sabotage")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["minutes", "profile"])]
    control: Option<crate::sabotage::Sabotage>,
}

/// Runs the subcommand.
///
/// # Errors
/// When the drill cannot be run, or is interrupted.
pub async fn run(options: Options, globals: &Globals) -> anyhow::Result<ExitCode> {
    let order = Order {
        seed: options.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
        profile: options.profile,
        minutes: options.minutes,
        keep: options.keep,
        #[cfg(feature = "sabotage")]
        control: options.control,
    };
    let (trigger, stopping) = shutdown::channel();
    shutdown::on_signals(trigger).context("failed to listen to signals")?;
    let is_json = globals.json;
    let tell = move |progress: Progress<'_>| {
        if !is_json {
            // Nobody who reads: then nobody is told.
            let _ = print(&view::progress(&progress));
        }
    };
    let report = drill::run(&order, stopping, &tell).await?;
    if is_json {
        print_json(&report)?;
    } else {
        print(&view::report(&report))?;
    }
    Ok(if report.is_pass() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a consumer of the drill, until it is killed.
///
/// # Errors
/// When it cannot listen.
pub async fn run_sink(options: sink::Options) -> anyhow::Result<ExitCode> {
    sink::run(options).await?;
    Ok(ExitCode::SUCCESS)
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "write a number of minutes, such as 10 or 0.5".to_owned())?;
    if (0.1..=1_440.0).contains(&minutes) { Ok(minutes) } else { Err("between 0.1 and 1440".to_owned()) }
}
