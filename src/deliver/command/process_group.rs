//! A program as the leader of a process group of its own: started, fed, waited for, killed with all that is in the group.
//! Knows nothing of deliveries.

use std::{future::pending, io, process::ExitStatus, time::Duration};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin, Command},
    signal::unix::{self, SignalKind},
};

/// A program and what it started. Dropping it kills all of them.
///
/// Invariant: the group is killed only while its leader has not been reaped. Until then the kernel gives the group's
/// number to nobody else, so that no stranger is hit.
pub(super) struct ProcessGroup {
    leader: Child,
    /// Tells that some child of ours has ended.
    exits: unix::Signal,
}

impl ProcessGroup {
    /// Starts the program.
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        // Listens before there is anything to hear, so that no exit is missed.
        let exits = unix::signal(SignalKind::child())?;
        let leader = command.process_group(0).spawn()?;
        Ok(Self { leader, exits })
    }

    /// Writes `input` to the program's standard input and closes it. Returns when the program has exited, whatever it has
    /// read by then. What it started may live on.
    ///
    /// Dropped half-way, the input stays open until the group has been killed: a program must not take half a body for a
    /// whole one.
    pub(super) async fn feed_until_exit(&mut self, input: &[u8]) {
        let Some(leader) = id(&self.leader) else { return };
        let feeding = async {
            feed(&mut self.leader.stdin, input).await;
            pending::<()>().await;
        };
        tokio::select! {
            () = exited(leader, &mut self.exits) => {}
            () = feeding => {}
        }
    }

    /// Kills the program and everything in its group, unless the program has been reaped.
    pub(super) fn kill(&self) {
        if let Some(leader) = id(&self.leader) {
            // An error says that there is nothing left that we could kill.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }

    /// How the program ended, which has exited or been killed. `patience` is for a program that hangs in the kernel.
    pub(super) async fn reap(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        match tokio::time::timeout(patience, self.leader.wait()).await {
            Ok(status) => status,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "it was killed and does not go away")),
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `None` once it has been reaped.
fn id(leader: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(leader.id()?).ok()?)
}

/// A program that closes its input, or exits without reading, has read what it wanted.
async fn feed(stdin: &mut Option<ChildStdin>, input: &[u8]) {
    if let Some(pipe) = stdin {
        let _ = pipe.write_all(input).await;
    }
    *stdin = None;
}

/// Waits until the leader has exited, and leaves it to be reaped.
async fn exited(leader: Pid, exits: &mut unix::Signal) {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(leader), look) {
            Ok(None) if exits.recv().await.is_none() => pending().await,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return,
        }
    }
}
