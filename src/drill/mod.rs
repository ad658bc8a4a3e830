//! The drill: proves the promises on the machine it runs on. Takes a seed and a size, gives a report.
//!
//! It starts a PostgreSQL, receivers, workers and consumers as processes of their own, plays scenes with them, then sends a
//! random load while it kills, stops and pauses everything, and at the end has the journals compared with the database.
//! Nothing of it is left when it ends, but the folder of one that failed.

mod aftermath;
pub mod checker;
mod cluster;
mod fleet;
mod home;
mod journal;
mod ledger;
mod load;
mod member;
mod nemesis;
mod profile;
mod report;
#[cfg(feature = "sabotage")]
pub mod sabotage;
mod scenes;
pub mod sink;
mod trial;
mod verdict;

use anyhow::Context as _;

pub use self::{
    aftermath::Waits,
    load::Counts,
    profile::Profile,
    report::{Load, Report},
    scenes::Played,
    verdict::Verdict,
};
use self::{cluster::Cluster, home::Home, member::Roster, profile::Scale};
use crate::shutdown::Shutdown;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Order {
    /// What all plans are drawn from.
    pub seed: u64,
    /// The size.
    pub profile: Profile,
    /// The length of the load, if not the usual.
    pub minutes: Option<f64>,
    /// Keep the folder whatever comes of it.
    pub keep: bool,
    /// A safety to switch off: the drill must notice.
    #[cfg(feature = "sabotage")]
    pub control: Option<crate::sabotage::Sabotage>,
}

impl Order {
    /// The size of the load.
    fn scale(&self, routes: usize) -> Scale {
        #[cfg(feature = "sabotage")]
        if let Some(control) = self.control {
            return sabotage::scale(control);
        }
        self.profile.scale(self.minutes, routes)
    }

    /// How long what is left after the last fault may take.
    fn drained_within(&self) -> std::time::Duration {
        #[cfg(feature = "sabotage")]
        if self.control.is_some() {
            return sabotage::DRAINED_WITHIN;
        }
        aftermath::DRAINED_WITHIN
    }

    /// The name of the safety that is switched off.
    fn control(&self) -> Option<&'static str> {
        #[cfg(feature = "sabotage")]
        return self.control.map(crate::sabotage::Sabotage::name);
        #[cfg(not(feature = "sabotage"))]
        return None;
    }
}

/// What is told while it runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Something begins.
    Step(String),
    /// A scene is over.
    Scene(&'a Played),
}

/// Who is told.
pub type Tell<'a> = &'a (dyn Fn(Progress<'_>) + Sync);

/// What the parts of a drill stand on.
struct Ground<'a> {
    home: &'a Home,
    roster: &'a Roster,
    cluster: Cluster,
}

/// Runs a drill, and cleans up behind it, also when `stop` begins.
///
/// # Errors
/// When the drill cannot be run at all. A promise that did not hold is no error, but in the report.
pub async fn run(order: &Order, mut stop: Shutdown, tell: Tell<'_>) -> anyhow::Result<Report> {
    let home = Home::make(order.seed)?;
    let roster = Roster::default();
    let ended = tokio::select! {
        ended = perform(order, &home, &roster, tell) => ended,
        () = stop.begun() => {
            end(&home, &roster).await;
            home.remove();
            anyhow::bail!("interrupted; nothing is left of the drill");
        }
    };
    end(&home, &roster).await;
    let kept = || format!("everything that was written down is in {}", home.path().display());
    let mut report = ended.with_context(kept)?;
    if report.is_pass() && !order.keep {
        home.remove();
    } else {
        report.home = Some(home.path().display().to_string());
    }
    Ok(report)
}

/// Ends every process. What dropped them may have been in the middle of anything.
async fn end(home: &Home, roster: &Roster) {
    roster.end();
    cluster::stop(home).await;
}

async fn perform(order: &Order, home: &Home, roster: &Roster, tell: Tell<'_>) -> anyhow::Result<Report> {
    let step = |text: String| tell(Progress::Step(text));
    step("starting PostgreSQL".to_owned());
    let ground = Ground { home, roster, cluster: Cluster::start(home).await? };
    let scenes = if order.control().is_none() {
        step("part one: scenes".to_owned());
        scenes::play(&ground, |played| tell(Progress::Scene(played))).await?
    } else {
        Vec::new()
    };
    let (load, mut checks) = trial::run(order, &ground, &step).await?;
    step("checking the journals against the database".to_owned());
    checks.extend(checker::check(home.path(), &ground.cluster.url_of("oncehook")).await.context("the checker failed")?);
    let is_pass = scenes.iter().all(|scene| scene.passed) && checks.iter().all(|check| check.passed);
    Ok(Report {
        verdict: verdict(order, is_pass, &checks),
        seed: order.seed,
        profile: order.profile.name(),
        control: order.control(),
        scenes,
        load,
        checks,
        home: None,
        repeat: repeat(order),
    })
}

/// What it all came to.
fn verdict(order: &Order, is_pass: bool, checks: &[Verdict]) -> &'static str {
    #[cfg(feature = "sabotage")]
    if let Some(control) = order.control {
        return if sabotage::is_caught(control, checks) { "CAUGHT" } else { "MISSED" };
    }
    let _ = (order, checks);
    if is_pass { "PASS" } else { "FAIL" }
}

/// The command that draws the same plans.
fn repeat(order: &Order) -> String {
    if let Some(control) = order.control() {
        return format!("oncehook drill --seed {} --control {control}", order.seed);
    }
    let mut command = format!("oncehook drill --seed {} --profile {}", order.seed, order.profile.name());
    if let Some(minutes) = order.minutes {
        command.push_str(&format!(" --minutes {minutes}"));
    }
    command
}
