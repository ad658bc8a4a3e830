//! A child process of the drill: a receiver, a worker or a sink. Started again whenever it ends, until the drill is over.

use std::{
    fs::OpenOptions,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use nix::{
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};
use rand::RngExt as _;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    sync::watch,
    time::Instant,
};

/// Between the end of a process and the start of its successor.
const PAUSE: Duration = Duration::from_millis(50);
/// The same after a start that failed, as it does while the database is away.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(300);
/// How long a process may take to listen.
const UP_WITHIN: Duration = Duration::from_secs(60);

/// What to run, and where it listens once it is up.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Its name in journals, and of its log.
    pub name: String,
    /// Arguments of this very program.
    pub arguments: Vec<String>,
    /// All of its environment besides `PATH`.
    pub environment: Vec<(String, String)>,
    /// Where it listens when it is ready.
    pub address: SocketAddr,
    /// Its log; appended to by each successor.
    pub log: PathBuf,
}

/// A process and its successors.
#[derive(Debug)]
pub struct Member {
    recipe: Recipe,
    state: Mutex<State>,
    ends: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    /// Not to be started again before.
    held_until: Option<Instant>,
    last_exit: Option<ExitStatus>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    pid: i32,
    since: Instant,
    /// It was told to end.
    is_doomed: bool,
}

impl Member {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.recipe.name
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.recipe.address
    }

    /// Keeps it running until [`Member::end`].
    ///
    /// # Errors
    /// When the program cannot be started at all.
    pub async fn keep(&self) -> anyhow::Result<()> {
        let mut ends = 0;
        while let Some(mut child) = self.start().await? {
            let status = child.wait().await.context("failed to wait for a process")?;
            self.note_end(status);
            ends += 1;
            self.ends.send_replace(ends);
            tokio::time::sleep(if status.code() == Some(1) { PAUSE_AFTER_FAILURE } else { PAUSE }).await;
        }
        Ok(())
    }

    fn note_end(&self, status: ExitStatus) {
        let mut state = self.state();
        state.running = None;
        state.last_exit = Some(status);
    }

    /// Starts it once it may be; `None` when it may not be any more.
    async fn start(&self) -> anyhow::Result<Option<Child>> {
        loop {
            let held_until = self.state().held_until;
            match held_until {
                Some(until) if until > Instant::now() => tokio::time::sleep_until(until).await,
                _ => break,
            }
        }
        let mut state = self.state();
        if state.is_over {
            return Ok(None);
        }
        let child = spawn(&self.recipe)?;
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).context("a process has no number")?;
        state.running = Some(Running { pid, since: Instant::now(), is_doomed: false });
        Ok(Some(child))
    }

    /// Its process, if there is one.
    pub fn pid(&self) -> Option<i32> {
        self.state().running.map(|running| running.pid)
    }

    /// Whether it has listened, and so worked, for some time, and was not told to end.
    pub async fn is_grown_up(&self, age: Duration) -> bool {
        let is_old = |running: Running| running.since.elapsed() >= age && !running.is_doomed;
        self.state().running.is_some_and(is_old) && TcpStream::connect(self.recipe.address).await.is_ok()
    }

    /// Signals its process, if it still runs and was not told to end. SIGCONT reaches it in any case: a process that was
    /// told to end while it was stopped hears of it only once it is awake.
    pub fn signal(&self, signal: Signal) -> Option<i32> {
        // The lock is held meanwhile: a process that is not yet known to be gone is not yet forgotten by the kernel.
        let mut state = self.state();
        let running = state.running.as_mut().filter(|running| !running.is_doomed || signal == Signal::SIGCONT)?;
        running.is_doomed |= matches!(signal, Signal::SIGKILL | Signal::SIGTERM);
        kill(Pid::from_raw(running.pid), signal).ok().map(|()| running.pid)
    }

    /// Keeps a successor from starting for so long.
    pub fn hold(&self, time: Duration) {
        self.state().held_until = Some(Instant::now() + time);
    }

    /// How its last process ended.
    pub fn last_exit(&self) -> Option<ExitStatus> {
        self.state().last_exit
    }

    /// How often it has ended so far, to be watched.
    pub fn ends(&self) -> watch::Receiver<usize> {
        self.ends.subscribe()
    }

    /// Waits until it listens.
    ///
    /// # Errors
    /// When it does not within a minute.
    pub async fn until_up(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while TcpStream::connect(self.recipe.address).await.is_err() {
            if begun.elapsed() > UP_WITHIN {
                let (name, log) = (&self.recipe.name, self.recipe.log.display());
                anyhow::bail!("{name} does not come up; its log is {log}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Starts it no more, and kills what runs, with all that it started.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        if let Some(running) = state.running {
            let _ = killpg(Pid::from_raw(running.pid), Signal::SIGKILL);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every process of a drill, so that none outlives it.
#[derive(Debug, Default)]
pub struct Roster(Mutex<Vec<Arc<Member>>>);

impl Roster {
    /// A process that is not started yet.
    pub fn add(&self, recipe: Recipe) -> Arc<Member> {
        let member = Arc::new(Member { recipe, state: Mutex::default(), ends: watch::Sender::new(0) });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(member.clone());
        member
    }

    /// Ends all of them.
    pub fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|member| member.end());
    }
}

/// Starts this very program once, in a process group of its own: Ctrl-C is for the drill, which then ends it.
///
/// # Errors
/// When that fails.
pub fn spawn(recipe: &Recipe) -> anyhow::Result<Child> {
    let failed = || format!("failed to start {}", recipe.name);
    let log = OpenOptions::new().create(true).append(true).open(&recipe.log).with_context(failed)?;
    let program = std::env::current_exe().with_context(failed)?;
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").envs(recipe.environment.iter().cloned());
    command.args(&recipe.arguments).process_group(0).kill_on_drop(true).stdin(Stdio::null());
    command.stdout(log.try_clone().with_context(failed)?).stderr(log);
    command.spawn().with_context(failed)
}

/// A free address on this machine. Its port is below those that the kernel gives to outgoing connections, which might take
/// it while its process is down for a moment.
///
/// # Errors
/// When a hundred ports are taken.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    let mut rng = rand::rng();
    (0..100)
        .map(|_| SocketAddr::from((Ipv4Addr::LOCALHOST, rng.random_range(12_000..30_000))))
        .find(|address| TcpListener::bind(address).is_ok())
        .context("found no free port between 12000 and 30000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_was_told_to_end_while_it_was_stopped_ends_when_it_is_woken() {
        let mut child = Command::new("sleep").arg("1000").kill_on_drop(true).spawn().unwrap();
        let recipe = Recipe {
            name: "sleeper".to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
            log: PathBuf::new(),
        };
        let member = Roster::default().add(recipe);
        let pid = i32::try_from(child.id().unwrap()).unwrap();
        member.state().running = Some(Running { pid, since: Instant::now(), is_doomed: false });
        for signal in [Signal::SIGSTOP, Signal::SIGTERM, Signal::SIGCONT] {
            assert_eq!(member.signal(signal), Some(pid), "{signal}");
        }
        child.wait().await.unwrap();
        assert_eq!(member.signal(Signal::SIGTERM), None, "told once");
    }
}
