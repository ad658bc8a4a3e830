//! The enemy: kills, stops and pauses what the product runs on, by a schedule planned from the seed, and writes down what
//! it did. Processes and the database are struck side by side, so that faults overlap.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use serde_json::json;
use tokio::time::Instant;

use super::{
    cluster::Cluster,
    fleet::{Fleet, LEASE},
    journal::Journal,
    member::Member,
    profile::{Fault, Scale},
};
use crate::clock::Clock;

/// A process is struck once it has had time to take up work.
const GROWN_UP: Duration = Duration::from_millis(400);
/// The database is struck again once it has been up for so long: where nothing is done, nothing can be lost.
const BREATH: Duration = Duration::from_millis(1_500);
/// How long a fault waits for something to strike.
const PATIENCE: Duration = Duration::from_secs(60);
/// One killed process in so many is started again only after its leases are over, so that others take over its work.
const HELD: u32 = 4;

/// One strike that is planned.
#[derive(Debug, Clone, Copy)]
struct Strike {
    at: Duration,
    fault: Fault,
}

/// One strike that was made.
struct Struck {
    target: String,
    pid: i32,
    at_us: i64,
    until_us: i64,
}

/// What it strikes, and where it writes.
#[derive(Debug)]
pub struct Nemesis<'a> {
    /// The database.
    pub cluster: &'a Cluster,
    /// The processes.
    pub fleet: &'a Fleet,
    journal: Journal,
    counts: BTreeMap<Fault, AtomicUsize>,
    next_target: AtomicUsize,
}

impl<'a> Nemesis<'a> {
    /// Ready to strike.
    pub fn new(cluster: &'a Cluster, fleet: &'a Fleet, journal: Journal, scale: &Scale) -> Self {
        let counts = scale.faults.iter().map(|(fault, _)| (*fault, AtomicUsize::new(0))).collect();
        Self { cluster, fleet, journal, counts, next_target: AtomicUsize::new(0) }
    }

    /// Faults injected so far, by class.
    pub fn counts(&self) -> BTreeMap<Fault, usize> {
        self.counts.iter().map(|(fault, count)| (*fault, count.load(Ordering::Relaxed))).collect()
    }

    /// Strikes as planned. When it returns, everything is up or on its way up.
    ///
    /// # Errors
    /// When the database does not come back, or a journal takes no more.
    pub async fn rage(&self, seed: u64, scale: &Scale) -> anyhow::Result<()> {
        let (database, processes): (Vec<_>, Vec<_>) =
            schedule(seed, scale).into_iter().partition(|strike| strike.fault.is_of_the_database());
        let (pauses, kills): (Vec<_>, Vec<_>) =
            processes.into_iter().partition(|strike| strike.fault == Fault::Sigstop);
        tokio::try_join!(
            self.follow(database, seed ^ 1),
            self.follow(kills, seed ^ 2),
            // A pause lasts longer than the lease; the other processes are struck meanwhile.
            self.follow(pauses, seed ^ 3),
        )?;
        Ok(())
    }

    async fn follow(&self, strikes: Vec<Strike>, seed: u64) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut rng = StdRng::seed_from_u64(seed);
        for Strike { at, fault } in strikes {
            tokio::time::sleep_until(begun + at).await;
            let struck = match fault {
                Fault::Kill9 | Fault::Sigterm => self.strike_process(fault, &mut rng).await,
                Fault::Sigstop => self.pause_process().await,
                Fault::PgImmediate => {
                    let away = Duration::from_millis(rng.random_range(0..500));
                    let at_us = now();
                    let pid = self.cluster.crash(away).await?;
                    Some(Struck::of("postgresql", pid, at_us))
                }
                Fault::BackendKill => self.strike_backend(&mut rng).await,
            };
            if fault.is_of_the_database() {
                tokio::time::sleep(BREATH).await;
            }
            let Some(Struck { target, pid, at_us, until_us }) = struck else { continue };
            self.counts[&fault].fetch_add(1, Ordering::Relaxed);
            let line = json!({ "at_us": at_us, "until_us": until_us, "fault": fault, "target": target, "pid": pid });
            self.journal.write(&line)?;
        }
        Ok(())
    }

    async fn strike_process(&self, fault: Fault, rng: &mut StdRng) -> Option<Struck> {
        let members: Vec<_> = self.fleet.members().collect();
        let member = self.grown_up(&members).await?;
        let signal = if fault == Fault::Kill9 { Signal::SIGKILL } else { Signal::SIGTERM };
        let hold = if rng.random_range(0..HELD) == 0 { LEASE.mul_f64(1.3) } else { Duration::ZERO };
        let at_us = now();
        member.hold(hold);
        let pid = member.signal(signal)?;
        Some(Struck::of(member.name(), pid, at_us))
    }

    /// Workers only: a paused receiver merely keeps its senders waiting.
    async fn pause_process(&self) -> Option<Struck> {
        let workers: Vec<_> = self.fleet.workers.iter().collect();
        let member = self.grown_up(&workers).await?;
        let at_us = now();
        let pid = member.signal(Signal::SIGSTOP)?;
        tokio::time::sleep(LEASE.mul_f64(1.5)).await;
        // Somebody else may have killed it meanwhile: then this wakes nobody, or its successor, who is awake.
        member.signal(Signal::SIGCONT);
        Some(Struck::of(member.name(), pid, at_us))
    }

    async fn strike_backend(&self, rng: &mut StdRng) -> Option<Struck> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let backends = self.cluster.backends().await.unwrap_or_default();
            if !backends.is_empty() {
                let backend = backends[rng.random_range(0..backends.len())];
                let at_us = now();
                // A killed session makes the server end all the others and recover; an ended one concerns nobody else.
                let is_done = if rng.random_range(0..3) == 0 {
                    let is_killed = kill(Pid::from_raw(backend), Signal::SIGKILL).is_ok();
                    // The fault lasts until the server takes sessions again.
                    is_killed && self.cluster.connect("oncehook").await.is_ok()
                } else {
                    self.cluster.terminate(backend).await.unwrap_or(false)
                };
                if is_done {
                    return Some(Struck::of("postgresql session", backend, at_us));
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }

    /// The next in turn that has had time to work.
    async fn grown_up(&self, members: &[&Arc<Member>]) -> Option<Arc<Member>> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            for _ in 0..members.len() {
                let member = members[self.next_target.fetch_add(1, Ordering::Relaxed) % members.len()];
                if member.is_grown_up(GROWN_UP).await {
                    return Some(member.clone());
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

impl Struck {
    /// It is over now.
    fn of(target: &str, pid: i32, at_us: i64) -> Self {
        Self { target: target.to_owned(), pid, at_us, until_us: now() }
    }
}

/// Each class spread evenly over the load, with some chance in it.
fn schedule(seed: u64, scale: &Scale) -> Vec<Strike> {
    let mut rng = StdRng::seed_from_u64(seed ^ 0x6661_756c_7473);
    let mut strikes = Vec::new();
    for &(fault, count) in &scale.faults {
        let step = scale.load.div_f64(f64::from(u32::try_from(count).unwrap_or(u32::MAX).max(1)));
        strikes.extend((0_u32..).take(count).map(|number| {
            let at = step * number + step.mul_f64(rng.random_range(0.0..0.9));
            Strike { at, fault }
        }));
    }
    strikes.sort_by_key(|strike| strike.at);
    strikes
}

fn now() -> i64 {
    Clock::system().now().timestamp_micros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::profile::Profile;

    #[test]
    fn every_class_of_faults_is_spread_over_the_load() {
        let scale = Profile::Quick.scale(None, 3);
        let strikes = schedule(1, &scale);
        for (fault, count) in scale.faults {
            let of: Vec<_> = strikes.iter().filter(|strike| strike.fault == fault).collect();
            assert_eq!(of.len(), count);
            assert!(of.iter().all(|strike| strike.at < scale.load));
            assert!(of[count - 1].at > scale.load / 2, "{fault:?} stops early");
        }
    }
}
